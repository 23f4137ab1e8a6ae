-- Admits one request, or refuses it, atomically: every check comes before the first write, so a refusal costs nothing.
--
-- KEYS  1 limits of the organisation   2 limits of the key   3 stream leases   4 inference lane   5 receipts lane
--       6 claim-checked body           7 idempotency claim   8 its waiters
-- ARGV  1 request id                   2 lane entry
--       3 microseconds per request     4 burst               5 requests per day
--       6 the same for the key (0: no sub-limit)             7 its burst
--       8 concurrent streams allowed (0: not a stream)       9 lease, ms
--      10 capacity of the region      11 bound of the receipts lane
--      12 fingerprint of the body ('': no Idempotency-Key)  13 life of a running claim, s
--      14 who to tell when the running request settles      15 body too large for the lane ('': none)   16 its life, s
--      17 clock in microseconds ('': this server's, which all api processes share)
--      19 requests the organisation may have waiting or running in the region  20 when this one is given up, ms
--      18 record of a request that screening has refused ('': this one is to run)
--      21 what is asked: 'admit' to run the request or record its refusal, 'paid' the same when its arrival has been taken
--         before, 'arrival' to take only that, 'claim' to look the claim up and admit nothing
--      22 requests that may wait for one claim
--      23 when the caller stops waiting, by the same clock ('': never): nothing is written after that
--
-- Returns {verdict, retry_us, remaining, reset_us, remaining_today, entry id | first request's id | this clock when late,
-- whose limit the remaining are of}

local now
if ARGV[17] == '' then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
else
  now = tonumber(ARGV[17])
end
-- The caller has been told that the request failed, and may have sent it again.
if ARGV[23] ~= '' and now > tonumber(ARGV[23]) then return { 'late', 0, 0, 0, 0, string.format('%.0f', now) } end
local day = string.format('%.0f', math.floor(now / 86400000000))

local interval, burst, per_day = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local key_interval, key_burst = tonumber(ARGV[6]), tonumber(ARGV[7])
local paid = ARGV[21] == 'paid'
local stored = redis.call('HMGET', KEYS[1], 'tat', 'day', 'count')
local count = (stored[2] == day) and tonumber(stored[3]) or 0
local current_tat = math.max(tonumber(stored[1]) or 0, now)
local current_key_tat = key_interval > 0 and math.max(tonumber(redis.call('HGET', KEYS[2], 'tat')) or 0, now) or 0
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

local fingerprint = ARGV[12]
local claim = nil
if fingerprint ~= '' and ARGV[18] == '' then
  local found = redis.call('HMGET', KEYS[7], 'fp', 'state', 'rid')
  if found[1] then
    claim = found
    if claim[1] ~= fingerprint then return refuse('reused', 0) end
  end
end

if ARGV[21] == 'claim' and not claim then return refuse('absent', 0) end

if not paid then
  local wait = allowed_at(tat, interval, burst) - now
  if key_interval > 0 then wait = math.max(wait, allowed_at(key_tat, key_interval, key_burst) - now) end
  if wait > 0 then return refuse('rate', wait) end
end

-- Further fields of the organisation's limits are written along.
local function take_arrival(...)
  if paid then
    if select('#', ...) > 0 then redis.call('HSET', KEYS[1], ...) end
    return
  end
  redis.call('HSET', KEYS[1], 'tat', string.format('%.0f', tat), ...)
  if key_interval > 0 then
    redis.call('HSET', KEYS[2], 'tat', string.format('%.0f', key_tat))
    redis.call('EXPIRE', KEYS[2], 86400)
  end
end

-- A request that screening has refused costs an arrival, and its record obeys the bound of the lane that it goes to.
if ARGV[18] ~= '' then
  if redis.call('XLEN', KEYS[5]) >= tonumber(ARGV[11]) then return refuse('backlog', 1000000) end
  take_arrival()
  redis.call('EXPIRE', KEYS[1], 172800)
  redis.call('XADD', KEYS[5], '*', 'e', ARGV[18])
  return answer('recorded', 0, true, per_day - count)
end

local streams = tonumber(ARGV[8])
local function streams_are_taken()
  if streams == 0 then return false end
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', math.floor(now / 1000))
  return redis.call('ZCARD', KEYS[3]) >= streams
end
local function take_lease()
  if streams == 0 then return end
  redis.call('ZADD', KEYS[3], math.floor(now / 1000) + tonumber(ARGV[9]), ARGV[1])
  redis.call('PEXPIRE', KEYS[3], tonumber(ARGV[9]) * 2)
end

-- A replay costs an arrival, and a stream's a lease, so that it cannot be used to flood, but no daily budget.
if claim then
  if streams_are_taken() then return refuse('streams', 1000000) end
  if claim[2] ~= 'done' and redis.call('LLEN', KEYS[8]) >= tonumber(ARGV[22]) then
    return refuse('waiters', 1000000)
  end
  take_arrival()
  take_lease()
  if claim[2] == 'done' then return answer('replay', 0, true, per_day - count, claim[3]) end
  redis.call('RPUSH', KEYS[8], ARGV[14])
  redis.call('EXPIRE', KEYS[8], tonumber(ARGV[13]))
  return answer('wait', 0, true, per_day - count, claim[3])
end

if count >= per_day then return refuse('day', 86400000000 - now % 86400000000) end

if streams_are_taken() then return refuse('streams', 1000000) end
if redis.call('XLEN', KEYS[4]) >= tonumber(ARGV[10]) then return refuse('saturated', 1000000) end
local held = redis.call('ZCARD', KEYS[9])
if held >= tonumber(ARGV[19]) then
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', math.floor(now / 1000))
  held = redis.call('ZCARD', KEYS[9])
  if held >= tonumber(ARGV[19]) then return refuse('saturated', 1000000) end
end
if redis.call('XLEN', KEYS[5]) >= tonumber(ARGV[11]) then return refuse('backlog', 1000000) end

-- What comes next takes seconds, and the request may be refused after it: no more than its arrival is taken before.
if ARGV[21] == 'arrival' then
  take_arrival()
  redis.call('EXPIRE', KEYS[1], 172800)
  return answer('arrived', 0, true, per_day - count)
end

take_arrival('day', day, 'count', count + 1)
if stored[2] ~= day then redis.call('EXPIRE', KEYS[1], 172800) end
take_lease()
if fingerprint ~= '' then
  redis.call('HSET', KEYS[7], 'fp', fingerprint, 'state', 'running', 'rid', ARGV[1])
  redis.call('EXPIRE', KEYS[7], tonumber(ARGV[13]))
end
redis.call('ZADD', KEYS[9], ARGV[20], ARGV[1])
-- Set in one second of each minute: who has so few requests that none falls into it for an hour reaches no bound.
if held == 0 or now % 60000000 < 1000000 then redis.call('EXPIRE', KEYS[9], 3600) end
if ARGV[15] ~= '' then redis.call('SET', KEYS[6], ARGV[15], 'EX', tonumber(ARGV[16])) end
return answer('admitted', 0, true, per_day - count - 1, redis.call('XADD', KEYS[4], '*', 'e', ARGV[2]))
