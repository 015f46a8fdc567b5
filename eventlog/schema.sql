-- The log of a run: append-only, readable with any SQLite tool. See views.sql for ready questions.
--
-- Guards raise ABORT, so a refused statement leaves nothing behind. The extend-only guards also
-- stop REPLACE, which the no-update and no-delete ones do not see by default.

-- What was fixed when the file was made: log_id, run, format, encoder, hash, genesis.
create table log_meta (
  key   text primary key,
  value text not null
) strict;

-- hash = sha256(prev_hash || sha256(header) || sha256(payload) || sha256(links)), where header is
-- the compact JSON array of the columns position to correlation_id and links the compact JSON array
-- of [name, lowercase hex of sha256] of the event's rows in event_blobs, sorted. The prev_hash of
-- the first event is sha256('discernmem/eventlog' || char(10) || log_id).
create table events (
  position       integer primary key check (position > 0), -- 1, 2, 3 ... in the order of writing
  event_id       text    not null unique,
  stream_id      text    not null,          -- what the event is about: memory:m3, task:12 ...
  stream_version integer not null check (stream_version > 0),
  type           text    not null,          -- name of the fact, see events.py
  schema_version integer not null check (schema_version > 0), -- version of the payload's shape
  task_index     integer,                   -- the task being executed, from 1; null outside tasks
  recorded_at    text    not null,          -- UTC, for people only: no rule reads it
  actor          text    not null,          -- the component that wrote it
  causation_id   text,                      -- event_id of the direct cause
  correlation_id text    not null,          -- the run
  payload        text    not null check (json_valid(payload)),
  prev_hash      blob    not null check (length(prev_hash) = 32),
  hash           blob    not null check (length(hash) = 32),
  unique (stream_id, stream_version)
) strict;
create index events_type on events (type, schema_version);
create index events_task on events (task_index) where task_index is not null;
create index events_causation on events (causation_id) where causation_id is not null;

-- Contents by the SHA-256 of their uncompressed bytes.
create table blobs (
  id      integer primary key,
  sha256  blob    not null unique check (length(sha256) = 32),
  size    integer not null,                 -- of the uncompressed content, in bytes
  codec   text    not null check (codec in ('none', 'zstd')),
  content blob    not null
) strict;

-- Which blobs an event cites; name is the path of the citing field: text_blob, messages.0.content.
-- They are written just before the event, whose hash covers them: a recorded event gets no more.
create table event_blobs (
  position integer not null references events (position) deferrable initially deferred,
  name     text    not null,
  sha256   blob    not null references blobs (sha256),
  primary key (position, name)
) strict, without rowid;
create index event_blobs_sha256 on event_blobs (sha256);

create trigger events_no_update before update on events begin
  select raise(abort, 'events is append-only');
end;
create trigger events_no_delete before delete on events begin
  select raise(abort, 'events is append-only');
end;
create trigger events_extend_only before insert on events begin
  select raise(abort, 'events: position is not the next one')
   where new.position is not (select coalesce(max(position), 0) + 1 from events);
  select raise(abort, 'events: stream_version is not the next one')
   where new.stream_version is not
         (select coalesce(max(stream_version), 0) + 1 from events where stream_id = new.stream_id);
  select raise(abort, 'events: event_id is already recorded')
   where exists (select 1 from events where event_id = new.event_id);
  select raise(abort, 'events: prev_hash is not the head of the log')
   where new.position > 1
     and new.prev_hash is not (select hash from events where position = new.position - 1);
  select raise(abort, 'events: prev_hash is not the genesis of the log')
   where new.position = 1
     and lower(hex(new.prev_hash)) is not (select value from log_meta where key = 'genesis');
end;

create trigger blobs_no_update before update on blobs begin
  select raise(abort, 'blobs is append-only');
end;
create trigger blobs_no_delete before delete on blobs begin
  select raise(abort, 'blobs is append-only');
end;
create trigger blobs_extend_only before insert on blobs begin
  select raise(abort, 'blobs: already stored')
   where exists (select 1 from blobs where sha256 = new.sha256);
  select raise(abort, 'blobs: id is taken')
   where exists (select 1 from blobs where id = new.id);
end;

create trigger event_blobs_no_update before update on event_blobs begin
  select raise(abort, 'event_blobs is append-only');
end;
create trigger event_blobs_no_delete before delete on event_blobs begin
  select raise(abort, 'event_blobs is append-only');
end;
create trigger event_blobs_extend_only before insert on event_blobs begin
  select raise(abort, 'event_blobs: already linked')
   where exists (select 1 from event_blobs where position = new.position and name = new.name);
  select raise(abort, 'event_blobs: the event is already recorded')
   where exists (select 1 from events where position = new.position);
end;

create trigger log_meta_no_update before update on log_meta begin
  select raise(abort, 'log_meta is fixed');
end;
create trigger log_meta_no_delete before delete on log_meta begin
  select raise(abort, 'log_meta is fixed');
end;
create trigger log_meta_extend_only before insert on log_meta begin
  select raise(abort, 'log_meta: already set')
   where exists (select 1 from log_meta where key = new.key);
end;
