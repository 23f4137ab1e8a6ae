-- Hands a request that a region could not serve on to another one, atomically: it is on one lane or on the other, never on
-- both, and never on none.
--
-- KEYS 1 lane that it leaves         2 lane that it goes to
--      3 what its organisation holds in the region that it leaves   4 the same in the other region
--      5 claim-checked body               6 where the request is
-- ARGV 1 consumer group   2 entry id   3 consumer   4 number of the delivery
--      5 request id       6 lane entry
--      7 requests that the other lane may hold   8 requests that the organisation may hold there
--      10 body too large for the lane ('': none)   11 life of that and of the note where the request is, s
--      12 the other region
--
-- Returns {'moved', entry id}; or {'full', ''}, {'taken', ''}, {'gone', ''}, and nothing is written.

local holds = holding(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
if holds ~= 'held' then return { holds, '' } end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[7]) then return { 'full', '' } end
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', tonumber(now[1]) * 1000)
if redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[8]) then return { 'full', '' } end

redis.call('ZREM', KEYS[3], ARGV[5])
redis.call('ZADD', KEYS[4], ARGV[9], ARGV[5])
redis.call('EXPIRE', KEYS[4], 3600)
if ARGV[10] ~= '' then redis.call('SET', KEYS[5], ARGV[10], 'EX', tonumber(ARGV[11])) end
local id = redis.call('XADD', KEYS[2], '*', 'e', ARGV[6])
-- The process that hands it on says so next, unless it dies before that.
redis.call('SET', KEYS[6], ARGV[12] .. ' ' .. id, 'EX', tonumber(ARGV[11]))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return { 'moved', id }
