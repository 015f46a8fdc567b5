-- An index of passages: one file, built once, then only read.

-- What was indexed and how: kind, passages, content, embedder, embedder_spec.
create table about (
    name  text primary key,
    value text not null
) without rowid;

create table passages (
    number integer primary key,  -- from 1, in the order of the file
    title  text not null,
    text   text not null
);

-- Kind `fts`: which passages hold which words. The texts themselves stay in `passages`.
create virtual table words using fts5 (
    title, text,
    content = 'passages', content_rowid = 'number',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Kind `vectors`: one unit vector a passage, little-endian float32.
create table vectors (
    number integer primary key references passages,
    vector blob not null
);
