-- Operators have a letter that was given up tried again. The api sets when, and nothing else: what it says and to whom stays
-- as it was written.
grant update (attempts, next_attempt_at, failed_at) on mail_outbox to docket_api;
