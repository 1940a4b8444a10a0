-- The tables of study.sqlite, and two views of them.
CREATE TABLE raters (number INTEGER PRIMARY KEY, name TEXT UNIQUE, token TEXT UNIQUE);
CREATE TABLE questions (
  question INTEGER PRIMARY KEY, sentence INTEGER, groups TEXT, edits TEXT, weight REAL,
  slot INTEGER UNIQUE);
CREATE TABLE items (
  item INTEGER PRIMARY KEY, rater INTEGER, position INTEGER, question INTEGER, arrangement TEXT,
  repeats INTEGER, UNIQUE (rater, position));
CREATE TABLE answers (
  number INTEGER PRIMARY KEY, item INTEGER, key TEXT UNIQUE, answer TEXT, seconds REAL, at TEXT,
  texts TEXT);
CREATE INDEX answers_of_items ON answers (item);
CREATE INDEX items_of_questions ON items (question);
CREATE INDEX questions_of_sentences ON questions (sentence);
CREATE VIEW asked AS SELECT * FROM items JOIN questions USING (question);
CREATE VIEW latest AS SELECT * FROM asked JOIN answers USING (item) JOIN raters ON rater = raters.number
  WHERE answers.number IN (SELECT max(number) FROM answers GROUP BY item) ORDER BY answers.number;
