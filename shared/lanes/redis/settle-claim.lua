-- Ends an idempotency claim whose answer is stored, and returns the requests that wait for it; or, when the delivery that
-- would end it no longer holds its entry, nothing but that. A claim without an answer is freed by apply.lua.
--
-- KEYS claim, waiters
--      answer     the stored answer of the delivery that ends it
--      lane       of the entry
-- ARGV requestId  which must hold the claim
--      receipt    its bytes ('': they are where its answer is)
--      storedS    life of a stored answer
--      attempt    the delivery that answered
--      kept       where its answer is: 'redis' or 'postgres'
--      group, entryId, consumer, number   of the entry's delivery
--
-- Returns {'held' | 'taken' | 'gone', waiter, …}

local standing = holding(KEYS.lane, ARGV.group, ARGV.entryId, ARGV.consumer, ARGV.number)
if standing ~= 'held' or redis.call('HGET', KEYS.claim, 'rid') ~= ARGV.requestId then return { standing } end
-- Where the answer is was decided the first time: it may be there no longer where it would be put now.
if redis.call('HGET', KEYS.claim, 'state') ~= 'done' then
  redis.call('HSET', KEYS.claim, 'state', 'done', 'attempt', ARGV.attempt, 'kept', ARGV.kept)
  if ARGV.receipt ~= '' then redis.call('HSET', KEYS.claim, 'receipt', ARGV.receipt) end
  redis.call('EXPIRE', KEYS.claim, tonumber(ARGV.storedS))
  if ARGV.kept == 'redis' then redis.call('EXPIRE', KEYS.answer, tonumber(ARGV.storedS))
  else redis.call('DEL', KEYS.answer) end
end
local waiting = redis.call('LRANGE', KEYS.waiters, 0, -1)
-- The worker that ends a claim may die before it has told them. The next one ends it again and tells them; twice does no harm.
redis.call('EXPIRE', KEYS.waiters, 60)
table.insert(waiting, 1, standing)
return waiting
