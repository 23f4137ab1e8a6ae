-- Admits one request, or refuses it, atomically: every check comes before anything is counted, so a refusal costs nothing.
-- (What is over, leases and places, is dropped on the way.)
--
-- KEYS orgLimits      arrivals of the organisation, and requests of its day
--      keyLimits      arrivals of the key
--      leases         streams of the organisation that are open, and those that run on for a retry ('left ' and their request)
--      lane           of the region
--      receiptsLane
--      body           claim-checked body
--      claim          of the Idempotency-Key
--      waiters        for its claim
--      held           requests of the organisation that wait or run in the region
--      and of each hard budget that the request falls under its counter, and the requests that hold a part of it
-- ARGV what           is asked: 'admit' to run the request or record its refusal, 'paid' the same when its arrival has been
--                     taken before, 'arrival' to take only that, 'claim' to look the claim up and admit nothing
--      requestId
--      entry          of the lane
--      interval       microseconds per request
--      burst
--      perDay         requests
--      keyInterval    as interval, of the key's own limit (0: none)
--      keyBurst
--      streams        of the organisation that may run (0: this is none)
--      leaseMs        life of a stream's lease
--      leasesMs       life of all of them together, unless one is renewed or taken
--      laneMax        requests that the region may hold
--      heldMax        of which the organisation
--      receiptsMax    receipts that may be owed
--      waitersMax     requests that may wait for one claim
--      fingerprint    of the body ('': no Idempotency-Key)
--      waiter         who to tell when the running request settles
--      largeBody      one that is too large for the lane ('': none)
--      lifeS          life of a claim that runs, and of a large body
--      deadlineMs     when this request is given up
--      refusedRecord  of a request that screening has refused ('': this one is to run)
--      clockUs        the time ('': this server's, which all api processes share)
--      untilUs        when the caller stops waiting, by the same clock ('': never): nothing is written after that
--      from MORE on, of each budget: its limit, what the request may use of it, the life of what is kept of it, and for how
--                     long (in milliseconds) the request holds its part at most
--
-- Returns {verdict, retry_us, remaining, reset_us, remaining_today, entry id | first request's id | this clock when late |
-- which budget it is (from 0), whose limit the remaining are of}; of a budget that is used up, what is left in the place of
-- retry_us

local now
if ARGV.clockUs == '' then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
else
  now = tonumber(ARGV.clockUs)
end
-- The caller has been told that the request failed, and may have sent it again.
if ARGV.untilUs ~= '' and now > tonumber(ARGV.untilUs) then return { 'late', 0, 0, 0, 0, string.format('%.0f', now) } end
local day = string.format('%.0f', math.floor(now / 86400000000))

local interval, burst, per_day = tonumber(ARGV.interval), tonumber(ARGV.burst), tonumber(ARGV.perDay)
local key_interval, key_burst = tonumber(ARGV.keyInterval), tonumber(ARGV.keyBurst)
local paid = ARGV.what == 'paid'
local stored = redis.call('HMGET', KEYS.orgLimits, 'tat', 'day', 'count')
local count = (stored[2] == day) and tonumber(stored[3]) or 0
local current_tat = math.max(tonumber(stored[1]) or 0, now)
local current_key_tat = key_interval > 0 and math.max(tonumber(redis.call('HGET', KEYS.keyLimits, 'tat')) or 0, now) or 0
-- The arrival of one that is paid for is among those that were.
local tat = paid and current_tat or current_tat + interval
local key_tat = paid and current_key_tat or current_key_tat + key_interval

local function answer(verdict, retry, has_arrived, left_today, id)
  local left, reset, whose = standing(now, has_arrived and tat or current_tat, interval, burst,
    has_arrived and key_tat or current_key_tat, key_interval, key_burst)
  return { verdict, retry, left, reset, math.max(0, left_today), id or '', whose }
end
local function refuse(verdict, retry)
  return answer(verdict, retry, false, per_day - count)
end

local fingerprint = ARGV.fingerprint
local claim = nil
if fingerprint ~= '' and ARGV.refusedRecord == '' then
  local found = redis.call('HMGET', KEYS.claim, 'fp', 'state', 'rid')
  if found[1] then
    claim = found
    if claim[1] ~= fingerprint then return refuse('reused', 0) end
  end
end

if ARGV.what == 'claim' and not claim then return refuse('absent', 0) end

if not paid then
  local wait = allowed_at(tat, interval, burst) - now
  if key_interval > 0 then wait = math.max(wait, allowed_at(key_tat, key_interval, key_burst) - now) end
  if wait > 0 then return refuse('rate', wait) end
end

-- Further fields of the organisation's limits are written along.
local function take_arrival(...)
  if paid then
    if select('#', ...) > 0 then redis.call('HSET', KEYS.orgLimits, ...) end
    return
  end
  redis.call('HSET', KEYS.orgLimits, 'tat', string.format('%.0f', tat), ...)
  if key_interval > 0 then
    redis.call('HSET', KEYS.keyLimits, 'tat', string.format('%.0f', key_tat))
    redis.call('EXPIRE', KEYS.keyLimits, 86400)
  end
end

-- A request that screening has refused costs an arrival, and its record obeys the bound of the lane that it goes to.
if ARGV.refusedRecord ~= '' then
  if redis.call('XLEN', KEYS.receiptsLane) >= tonumber(ARGV.receiptsMax) then return refuse('backlog', 1000000) end
  take_arrival()
  redis.call('EXPIRE', KEYS.orgLimits, 172800)
  redis.call('XADD', KEYS.receiptsLane, '*', 'e', ARGV.refusedRecord)
  return answer('recorded', 0, true, per_day - count)
end

local streams = tonumber(ARGV.streams)
local function streams_are_taken()
  if streams == 0 then return false end
  redis.call('ZREMRANGEBYSCORE', KEYS.leases, '-inf', math.floor(now / 1000))
  return redis.call('ZCARD', KEYS.leases) >= streams
end
local function take_lease()
  if streams == 0 then return end
  redis.call('ZADD', KEYS.leases, math.floor(now / 1000) + tonumber(ARGV.leaseMs), ARGV.requestId)
  redis.call('PEXPIRE', KEYS.leases, tonumber(ARGV.leasesMs))
end

-- A replay costs an arrival, and a stream's a lease, so that it cannot be used to flood, but no daily budget.
-- One that runs on since its client has left gives its lease to the one that waits for it.
if claim then
  local left = 'left ' .. claim[3]
  local takes_over = streams > 0 and claim[2] ~= 'done' and redis.call('ZSCORE', KEYS.leases, left)
  if not takes_over and streams_are_taken() then return refuse('streams', 1000000) end
  if claim[2] ~= 'done' and redis.call('LLEN', KEYS.waiters) >= tonumber(ARGV.waitersMax) then
    return refuse('waiters', 1000000)
  end
  take_arrival()
  if takes_over then redis.call('ZREM', KEYS.leases, left) end
  take_lease()
  if claim[2] == 'done' then return answer('replay', 0, true, per_day - count, claim[3]) end
  redis.call('RPUSH', KEYS.waiters, ARGV.waiter)
  redis.call('EXPIRE', KEYS.waiters, tonumber(ARGV.lifeS))
  return answer('wait', 0, true, per_day - count, claim[3])
end

if count >= per_day then return refuse('day', 86400000000 - now % 86400000000) end

if streams_are_taken() then return refuse('streams', 1000000) end
if redis.call('XLEN', KEYS.lane) >= tonumber(ARGV.laneMax) then return refuse('saturated', 1000000) end
local held = redis.call('ZCARD', KEYS.held)
if held >= tonumber(ARGV.heldMax) then
  redis.call('ZREMRANGEBYSCORE', KEYS.held, '-inf', math.floor(now / 1000))
  held = redis.call('ZCARD', KEYS.held)
  if held >= tonumber(ARGV.heldMax) then return refuse('saturated', 1000000) end
end
if redis.call('XLEN', KEYS.receiptsLane) >= tonumber(ARGV.receiptsMax) then return refuse('backlog', 1000000) end

local budgets = (#ARGV - MORE + 1) / 4
local function each_budget(run)
  for i = 0, budgets - 1 do
    local key = #KEYS - 2 * (budgets - i) + 1
    local at = MORE + 4 * i
    local verdict, left = run(KEYS[key], KEYS[key + 1], tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]),
      tonumber(ARGV[at + 3]))
    if verdict then return answer(verdict, left, false, per_day - count, string.format('%.0f', i)) end
  end
end
local refused = each_budget(function(counter, holders, limit, amount)
  -- What was not settled by now never will be: its worker died, or Redis lost its entry.
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', holders, '-inf', math.floor(now / 1000), 'LIMIT', 0, 100)) do
    redis.call('ZREM', holders, member)
    give_back(counter, member)
  end
  local used = redis.call('HMGET', counter, 'settled', 'reserved')
  if not used[1] then return 'uncounted', 0 end
  local left = limit - tonumber(used[1]) - (tonumber(used[2]) or 0)
  if amount > left then return 'budget', math.max(0, left) end
end)
if refused then return refused end

-- What comes next takes seconds, and the request may be refused after it: no more than its arrival is taken before.
if ARGV.what == 'arrival' then
  take_arrival()
  redis.call('EXPIRE', KEYS.orgLimits, 172800)
  return answer('arrived', 0, true, per_day - count)
end

take_arrival('day', day, 'count', count + 1)
if stored[2] ~= day then redis.call('EXPIRE', KEYS.orgLimits, 172800) end
take_lease()
each_budget(function(counter, holders, _, amount, life, hold)
  redis.call('HINCRBY', counter, 'reserved', amount)
  redis.call('ZADD', holders, math.floor(now / 1000) + hold,
    ARGV.requestId .. ' ' .. string.format('%.0f', amount))
  redis.call('EXPIRE', holders, life)
end)
if fingerprint ~= '' then
  redis.call('HSET', KEYS.claim, 'fp', fingerprint, 'state', 'running', 'rid', ARGV.requestId)
  redis.call('EXPIRE', KEYS.claim, tonumber(ARGV.lifeS))
end
redis.call('ZADD', KEYS.held, ARGV.deadlineMs, ARGV.requestId)
-- Set in one second of each minute: who has so few requests that none falls into it for an hour reaches no bound.
if held == 0 or now % 60000000 < 1000000 then redis.call('EXPIRE', KEYS.held, 3600) end
if ARGV.largeBody ~= '' then redis.call('SET', KEYS.body, ARGV.largeBody, 'EX', tonumber(ARGV.lifeS)) end
return answer('admitted', 0, true, per_day - count - 1, redis.call('XADD', KEYS.lane, '*', 'e', ARGV.entry))
