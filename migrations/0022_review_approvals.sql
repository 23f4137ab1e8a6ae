-- Approvals of reviews that two persons have to approve. The first is kept here, for the screening that was looked at; the
-- second one decides. A review that shows another screening by then asks both again.
create table review_approval (
  review_id    text not null references review (id),
  screening_id text not null references screening (id),
  approved_by  text not null,
  approved_at  timestamptz(3) not null,
  note         text not null,
  primary key (review_id, screening_id, approved_by)
);
grant select, insert on review_approval to docket_api, docket_operator;
