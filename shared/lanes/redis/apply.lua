-- Runs the commands of one batch together; no reader sees some of them without the others. One that fails does not keep the
-- others from happening, as in MULTI; its error is the answer, and the batch comes again.
--
-- KEYS  the key of each command, in order
-- ARGV  for each command: its name, the number of its further arguments, those arguments

local at, failed = 1, nil
for _, key in ipairs(KEYS) do
  local count = tonumber(ARGV[at + 1])
  local result = redis.pcall(ARGV[at], key, unpack(ARGV, at + 2, at + 1 + count))
  if type(result) == 'table' and result.err then failed = failed or result end
  at = at + 2 + count
end
return failed or redis.status_reply('OK')
