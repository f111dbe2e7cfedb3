/** Addresses of lists of the API server. */

/** The header that kubectl sends: an aggregated API without Tables answers with the list instead of 406. */
export const tableAccept = 'application/json;as=Table;g=meta.k8s.io;v=v1, application/json';

/** Objects of a list that one request gets. */
export const pageSize = 500;

/** Selectors of the API server; an empty one selects all. */
export interface Selection {
  labelSelector?: string;
  fieldSelector?: string;
}

/** Rows of a Table come with their metadata by default. */
interface RowSelection extends Selection {
  includeObject?: 'Object';
}

/** Returns the address of a part of a list. @param from token of the part; by default the first one */
export function listPath(path: string, { labelSelector, fieldSelector, includeObject }: RowSelection, from = ''): string {
  const selected = {
    ...(labelSelector && { labelSelector }),
    ...(fieldSelector && { fieldSelector }),
    ...(includeObject && { includeObject }),
  };
  return `${path}?${new URLSearchParams({ ...selected, limit: String(pageSize), ...(from && { continue: from }) })}`;
}
