-- Gives back the lease of a stream whose exchange is over. Where the request of its Idempotency-Key runs on without anyone
-- who reads it, that keeps a lease, until it ends or an identical request takes it over.
--
-- KEYS leases, claim
-- ARGV requestId
--      runs        the request whose answer it was, which may run on
--      answeredMs  a claim that lives for longer has its answer
--      leasesMs    life of the leases, unless they are renewed

redis.call('ZREM', KEYS.leases, ARGV.requestId)
local found = redis.call('HMGET', KEYS.claim, 'rid', 'state')
local life = redis.call('PTTL', KEYS.claim)
local runs = found[1] == ARGV.runs and found[2] == 'running' and life > 0 and life < tonumber(ARGV.answeredMs)
if not runs then return 0 end
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Its own stream may be the one that is still read, unless the process that read it has died.
local own = redis.call('ZSCORE', KEYS.leases, found[1])
if own and tonumber(own) > now_ms then return 0 end
redis.call('ZADD', KEYS.leases, now_ms + life, 'left ' .. found[1])
redis.call('PEXPIRE', KEYS.leases, tonumber(ARGV.leasesMs))
return 1
