-- Questions ready to be asked of a log with any SQLite tool. They are views: nothing is stored.
--
-- Payloads are JSON; payload ->> 'field' reads a field. Times are positions: a view's position is
-- the event that says so, and events.payload at that position is the whole fact.

-- Every memory as it is now.
create view memories as
select
  a.payload ->> 'memory'      as id,
  a.payload ->> 'role'        as owner,
  -- A new version starts provisional, as a new memory does.
  (select case s.type when 'StateChanged' then s.payload ->> 'after' else 'provisional' end
     from events s
    where s.stream_id = a.stream_id
      and s.type in ('MemoryAdmitted', 'MemoryRevised', 'StateChanged')
    order by s.stream_version desc limit 1) as state,
  coalesce(v.payload ->> 'version', 1)  as version,
  coalesce(v.payload, a.payload) ->> 'body' as body,
  a.payload ->> 'source_task' as source_task,
  a.task_index                as admitted_at_task,
  a.position                  as admitted_at
from events a
left join events v on v.position = (
  select max(r.position) from events r
   where r.stream_id = a.stream_id and r.type = 'MemoryRevised')
where a.type = 'MemoryAdmitted';

-- Every body a memory has had, and the repair that made it.
create view versions as
select
  payload ->> 'memory'               as memory,
  coalesce(payload ->> 'version', 1) as version,
  payload ->> 'body'                 as body,
  payload ->> 'repair'               as repair,
  task_index,
  position
from events
where type in ('MemoryAdmitted', 'MemoryRevised');

-- Every injection of a memory into a scored execution, its measured effect and its label.
create view uses as
select
  s.payload ->> 'memory'     as memory,
  s.payload ->> 'version'    as version,
  s.payload ->> 'role'       as role,
  s.payload ->> 'task'       as task,
  s.payload ->> 'similarity' as similarity,
  e.payload ->> 'effect'     as effect,
  e.payload ->> 'sign'       as sign,
  u.payload ->> 'label'      as label,
  u.payload ->> 'reason'     as reason,
  s.task_index,
  s.position,
  e.position                 as effect_position,
  u.position                 as label_position
from events s
left join events e on e.position = (
  select min(m.position) from events m
   where m.stream_id = s.stream_id and m.position > s.position and m.type = 'EffectMeasured'
     and m.payload ->> 'task' = s.payload ->> 'task'
     and m.payload ->> 'version' = s.payload ->> 'version'
     and m.payload ->> 'origin' = 'reuse')
left join events u on u.position = (
  select min(m.position) from events m
   where m.stream_id = s.stream_id and m.position > e.position and m.type = 'UseAttributed'
     and m.payload ->> 'task' = s.payload ->> 'task'
     and m.payload ->> 'version' = s.payload ->> 'version')
where s.type = 'MemorySupplied';

-- Every paired effect, with against without the memory.
create view effects as
select
  payload ->> 'memory'        as memory,
  payload ->> 'version'       as version,
  payload ->> 'task'          as task,
  payload ->> 'origin'        as origin,
  payload ->> 'score_with'    as score_with,
  payload ->> 'score_without' as score_without,
  payload ->> 'effect'        as effect,
  payload ->> 'sign'          as sign,
  payload ->> 'changed'       as changed,
  task_index,
  position
from events
where type = 'EffectMeasured';

-- Every step of a memory's life: from one state to another, by which rule.
create view transitions as
select
  payload ->> 'memory'  as memory,
  payload ->> 'version' as version,
  payload ->> 'before'  as before,
  payload ->> 'after'   as after,
  payload ->> 'rule'    as rule,
  task_index,
  position
from events
where type = 'StateChanged';

-- Every decision of a person about a memory.
create view overrides as
select
  payload ->> 'memory'  as memory,
  payload ->> 'version' as version,
  payload ->> 'action'  as action,
  payload ->> 'kind'    as kind,
  payload ->> 'text'    as text,
  payload ->> 'reason'  as reason,
  payload ->> 'by'      as by,
  recorded_at,
  position
from events
where type = 'MemoryOverridden';

-- Every repair and how it ended; outcome is null while it is open.
create view repairs as
select
  s.payload ->> 'repair'  as repair,
  s.payload ->> 'memory'  as memory,
  s.payload ->> 'version' as version,
  s.payload ->> 'kind'    as kind,
  s.payload ->> 'trigger' as trigger_task,
  e.payload ->> 'outcome' as outcome,
  e.payload ->> 'rounds'  as rounds,
  s.task_index,
  s.position,
  e.position              as ended_at
from events s
left join events e
  on e.stream_id = s.stream_id and e.type = 'RepairEnded'
 and e.payload ->> 'repair' = s.payload ->> 'repair'
where s.type = 'RepairStarted';

-- Every candidate of every repair and the gate's verdict; accepted is null if it was not judged.
create view candidates as
select
  p.payload ->> 'repair'       as repair,
  p.payload ->> 'memory'       as memory,
  p.payload ->> 'version'      as version,
  p.payload ->> 'round'        as round,
  p.payload ->> 'number'       as number,
  p.payload ->> 'operation'    as operation,
  p.payload ->> 'edit'         as edit,
  p.payload ->> 'correction'   as correction,
  p.payload ->> 'body'         as body,
  p.payload ->> 'problem'      as problem,
  j.payload ->> 'accepted'     as accepted,
  j.payload ->> 'rejected_by'  as rejected_by,
  j.payload ->> 'reason'       as reason,
  j.payload ->> 'trigger_gain' as trigger_gain,
  p.task_index,
  p.position,
  j.position                   as judged_at
from events p
left join events j
  on j.stream_id = p.stream_id and j.type = 'CandidateJudged'
 and j.payload ->> 'repair' = p.payload ->> 'repair'
 and j.payload ->> 'round' = p.payload ->> 'round'
 and j.payload ->> 'number' = p.payload ->> 'number'
where p.type = 'CandidateProposed';

-- Every call of the model; text is null when only its compressed blob (sha256) has it.
create view model_calls as
select
  e.payload ->> 'request' as request,
  e.payload ->> 'purpose' as purpose,
  e.payload ->> 'role'    as role,
  coalesce(e.payload ->> 'text', case b.codec when 'none' then cast(b.content as text) end) as text,
  nullif(lower(hex(b.sha256)), '') as text_sha256,
  coalesce(e.payload ->> 'finish', 'stop') as finish,
  e.payload ->> 'prompt_tokens'            as prompt_tokens,
  e.payload ->> 'completion_tokens'        as completion_tokens,
  e.task_index,
  e.position
from events e
left join event_blobs l on l.position = e.position and l.name = 'text_blob'
left join blobs b on b.sha256 = l.sha256
where e.type = 'ModelReplied';

-- Why: for every event the earlier events it rests on, its one direct cause and its evidence.
create view causes as
select e.position, c.position as cause_position, 'cause' as relation
from events e
join events c on c.event_id = e.causation_id
union all
select e.position, c.position, 'evidence'
from events e
join json_each(e.payload, '$.evidence') i
join events c on c.event_id = i.value;
