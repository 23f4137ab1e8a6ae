/** What a row of sums adds to what is used of a budget. */
export const measured = (row: string): string =>
  `case b.measure when 'requests' then ${row}.covered + ${row}.uncovered
     when 'tokens' then ${row}.input_tokens + ${row}.output_tokens when 'energy' then ${row}.energy
     when 'money' then ${row}.cost else ${row}.gwp end`;
/** Whether a row of sums is of what the budget is of; none is of a tag, since a row has many. */
export const isOf = (row: string): string =>
  `case b.scope when 'key' then ${row}.key_id = b.target when 'model' then ${row}.model = b.target
     when 'tag' then false else true end`;
/** Whether a row of `usage_tag_day` is of the tag of a budget. */
export const isOfTag = (row: string): string =>
  `(b.scope = 'tag' and ${row}.tag = split_part(b.target, '=', 1) and ${row}.value = split_part(b.target, '=', 2))`;

const SUMS = ['covered', 'uncovered', 'input_tokens', 'output_tokens', 'energy', 'gwp', 'cost']
  .map((name) => `sum(d.${name}) as ${name}`)
  .join(', ');

/**
 * The sums of an organisation since `month`, in one pass over its days: a row for the day that began at `day` and one for those
 * before it, for each key and each model that a budget of it names, and those that none names together. Each budget would
 * otherwise read all of them, of which an organisation that changes its keys has very many. Tags that a budget names have rows of
 * their own.
 */
export const sumsOf = ({ org, day, month }: Record<'org' | 'day' | 'month', string>): string =>
  `select d.at >= ${day}::timestamptz as is_day, m.target as model, k.target as key_id, null::text as tag, ${SUMS}
   from usage_day d
   left join (select distinct target from budget where org_id = ${org} and scope = 'model') m on m.target = d.model
   left join (select distinct target from budget where org_id = ${org} and scope = 'key') k on k.target = d.key_id
   where d.org_id = ${org} and d.at >= ${month}::timestamptz
   group by 1, 2, 3
   union all
   select d.at >= ${day}::timestamptz, null, null, b.target, ${SUMS}
   from (select distinct scope, target from budget where org_id = ${org} and scope = 'tag') b
   join usage_tag_day d on d.org_id = ${org} and d.at >= ${month}::timestamptz and ${isOfTag('d')}
   group by 1, 4`;
/** Whether such a row is of what the budget is of. */
export const isSumOf = (row: string): string =>
  `case b.scope when 'tag' then ${row}.tag = b.target else ${row}.tag is null and ${isOf(row)} end`;
/** Whether such a row is of the period of a budget. */
export const isOfPeriod = (row: string): string => `(b.period = 'month' or ${row}.is_day)`;
