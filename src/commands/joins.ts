/** How the replies of several shards become one: Redis's response policies, and four of our own. */
export type Join =
  | 'default-keyless'
  | 'all_succeeded'
  | 'one_succeeded'
  | 'agg_sum'
  | 'agg_min'
  | 'agg_max'
  | 'agg_logical_and'
  | 'agg_logical_or'
  /** The one reply that all shards gave; an error when they differ. */
  | 'same'
  /** Texts one after the other, each under a line that names its shard. */
  | 'text'
  /** One of the replies that are not null, by chance. */
  | 'random'
  /** Lists joined, each entry once. */
  | 'union'
  /** Pairs of name and number, numbers added up per name. */
  | 'counts'
