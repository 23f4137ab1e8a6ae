/** What a row of sums adds to what is used of a budget. */
export const measured = (row: string): string =>
  `case b.measure when 'requests' then ${row}.covered + ${row}.uncovered
     when 'tokens' then ${row}.input_tokens + ${row}.output_tokens when 'energy' then ${row}.energy else ${row}.gwp end`;
/** Whether a row of sums is of what the budget is of. */
export const isOf = (row: string): string =>
  `(b.scope <> 'key' or ${row}.key_id = b.target) and (b.scope <> 'model' or ${row}.model = b.target)`;
