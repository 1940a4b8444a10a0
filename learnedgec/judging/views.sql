-- What each connection to study.sqlite sees besides its tables: every item with its latest answer, and
-- every latest answer.
CREATE TEMP VIEW asked AS SELECT *,
  (SELECT count(*) FROM answers WHERE answers.item = items.item) AS version,
  (SELECT answer FROM answers WHERE answers.item = items.item ORDER BY number DESC LIMIT 1) AS answer,
  (SELECT item FROM items AS earlier WHERE earlier.rater = items.rater
    AND earlier.position = items.position - 1) AS previous
  FROM items JOIN questions USING (question);
CREATE TEMP VIEW latest AS
  SELECT * FROM items JOIN questions USING (question) JOIN answers USING (item)
  JOIN raters ON rater = raters.number
  WHERE answers.number IN (SELECT max(number) FROM answers GROUP BY item) ORDER BY answers.number;
