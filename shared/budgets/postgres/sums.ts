/** What a row of sums adds to what is used of a budget. */
export const measured = (row: string): string =>
  `case b.measure when 'requests' then ${row}.covered + ${row}.uncovered
     when 'tokens' then ${row}.input_tokens + ${row}.output_tokens when 'energy' then ${row}.energy else ${row}.gwp end`;
/** Whether a row of sums is of what the budget is of. */
export const isOf = (row: string): string =>
  `(b.scope <> 'key' or ${row}.key_id = b.target) and (b.scope <> 'model' or ${row}.model = b.target)`;

/**
 * The sums of an organisation since `month`, in one pass over its days: a row for the day that began at `day` and one for those
 * before it, for each key and each model that a budget of it names, and those that none names together. Each budget would
 * otherwise read all of them, of which an organisation that changes its keys has very many.
 */
export const sumsOf = ({ org, day, month }: Record<'org' | 'day' | 'month', string>): string =>
  `select d.at >= ${day}::timestamptz as is_day, m.target as model, k.target as key_id,
     sum(d.covered) as covered, sum(d.uncovered) as uncovered, sum(d.input_tokens) as input_tokens,
     sum(d.output_tokens) as output_tokens, sum(d.energy) as energy, sum(d.gwp) as gwp
   from usage_day d
   left join (select distinct target from budget where org_id = ${org} and scope = 'model') m on m.target = d.model
   left join (select distinct target from budget where org_id = ${org} and scope = 'key') k on k.target = d.key_id
   where d.org_id = ${org} and d.at >= ${month}::timestamptz
   group by 1, 2, 3`;
/** Whether such a row is of the period of a budget. */
export const isOfPeriod = (row: string): string => `(b.period = 'month' or ${row}.is_day)`;
