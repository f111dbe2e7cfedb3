/** The entry of `any-kind`, for custom resources and all other kinds without a page of their own. */
export const otherKinds = '*';
