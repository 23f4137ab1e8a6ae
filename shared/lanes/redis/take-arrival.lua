-- Takes one arrival from the bucket of an organisation and from that of its key, or says in how many microseconds both
-- have one. The same rates as in admission.lua.
--
-- KEYS 1 the organisation's bucket  2 the key's
-- ARGV 1 microseconds per arrival  2 burst  3 the same for the key (0: no limit of its own)  4 its burst
--
-- Returns {wait, left, reset, whose}.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local key_interval, key_burst = tonumber(ARGV[3]), tonumber(ARGV[4])
local tat = math.max(tonumber(redis.call('GET', KEYS[1])) or 0, now)
local key_tat = key_interval > 0 and math.max(tonumber(redis.call('GET', KEYS[2])) or 0, now) or 0

local wait = allowed_at(tat + interval, interval, burst) - now
if key_interval > 0 then
  wait = math.max(wait, allowed_at(key_tat + key_interval, key_interval, key_burst) - now)
end
if wait <= 0 then
  wait = 0
  tat = tat + interval
  redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
  if key_interval > 0 then
    key_tat = key_tat + key_interval
    redis.call('SET', KEYS[2], string.format('%.0f', key_tat), 'PX', math.ceil((key_tat - now) / 1000))
  end
end
return { wait, standing(now, tat, interval, burst, key_tat, key_interval, key_burst) }
