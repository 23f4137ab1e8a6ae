/** All tables, put together from the interfaces that stand beside each area's queries. */
// oxlint-disable-next-line typescript/no-empty-object-type -- areas are added as they come
export interface Database {}
