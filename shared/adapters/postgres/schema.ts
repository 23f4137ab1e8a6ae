/**
 * All tables of the database, put together from the interfaces that stand beside each area's
 * queries.
 */
export interface Database {}
