import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import type { Scope } from '../collection/query.ts';
import type { Caller } from '../http/operation.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import { type AllowedNamespaces, namesKey } from './allowed-namespaces.ts';
import type { NamespaceRow } from './namespace-row.ts';
import type { NamespacesQuery } from './namespaces-schema.ts';
import { isIn } from './rbac-estimates.ts';

export interface NamespacesServiceOptions {
  rbac: RbacWatch;
  lister: Lister<NamespaceRow>;
  allowed: AllowedNamespaces;
}

/** Lists the namespaces in which a caller may do something, and tells of no other. */
export class NamespacesService {
  readonly #options: NamespacesServiceOptions;

  constructor(options: NamespacesServiceOptions) {
    this.#options = options;
  }

  /** A NamespaceList. @throws StatusError 400, 410, 429, 503, 504, and what the API server refuses a review with */
  async list(parameters: NamespacesQuery, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { lister, rbac, allowed } = this.#options;
    const { verb, group, resource, subresource } = parameters;
    const question = { verb, group, resource, subresource };
    await lister.whenFresh(parameters, signal);
    rbac.requireSynced();
    const forecast = await allowed.forecast(question, caller, signal);
    const page = (scope: Scope<NamespaceRow>) => lister.list(parameters, signal, scope);
    const told = await allowed.reviewedIfFew(forecast, question, caller, signal);
    if (told !== undefined) return page(scopeOf(told));
    const first = await page({
      key: forecast.allowed === 'all' ? 'all' : namesKey(forecast.allowed),
      fits: ({ name }) => isIn(forecast.allowed, name),
    });
    // So many are not asked about one by one and kept, but all at once.
    if (!first.isHeld) return page(scopeOf(await allowed.review(forecast, question, caller, signal)));
    if (await allowed.confirm(first.names, question, caller, signal)) return first;
    return page(scopeOf(await allowed.review({ ...forecast, doubt: 'saysTooMuch' }, question, caller, signal)));
  }
}

const scopeOf = (names: ReadonlySet<string>): Scope<NamespaceRow> => ({ key: namesKey(names), fits: ({ name }) => names.has(name) });
