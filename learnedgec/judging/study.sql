-- The tables of study.sqlite.
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
