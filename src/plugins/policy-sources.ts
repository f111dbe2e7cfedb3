import type { getDomain } from 'tldts';

/** Sources of a directive under its name in the definition of ConsolePlugins. */
export interface PolicyAddition {
  readonly directive: string;
  readonly values: readonly string[];
}

/** Accepted and refused additions to the policy of pages. */
export interface PolicyChoice {
  readonly taken: readonly PolicyAddition[];
  readonly refused: readonly string[];
}

/** Excludes quoted keywords, separators and the wildcard for everything: additions name hosts and schemes, and cannot lift the policy. */
const plainSource = /^(?!\*$)[!#-&(-+\-.-:<-~]+$/;

/** A named host, with or without scheme, port and path (CSP 3, 2.3.1). */
const hostSource = /^(?:(?:https?|wss?):\/\/)?(?<wildcard>\*\.)?(?<host>[\w-]+(?:\.[\w-]+)*)(?::(?:\d{1,5}|\*))?(?:\/.*)?$/i;

/** Directives for the sources of scripts: `script-src`, and its fallback `default-src`. */
const scriptDirectives = new Set(['ScriptSrc', 'DefaultSrc']);

/**
 * Domains below which every customer can have a host, such as `co.uk` and `github.io`. The list takes 3 MB and few plugins need it, so the
 * first of them loads it.
 */
export class PublicSuffixes {
  #getDomain: typeof getDomain | undefined;
  #loading: Promise<void> | undefined;

  /** Increases when the list is loaded, which changes answers. */
  get revision(): number {
    return this.#getDomain === undefined ? 0 : 1;
  }

  get isLoading(): boolean {
    return this.#loading !== undefined && this.#getDomain === undefined;
  }

  /** Loads the list if an addition depends on it. */
  async loadFor(additions: readonly PolicyAddition[]): Promise<void> {
    const isNeeded = additions.some(({ directive, values }) => scriptDirectives.has(directive) && values.some(isWildcard));
    if (!isNeeded) return;
    this.#loading ??= import('tldts').then((list) => {
      this.#getDomain = list.getDomain;
    });
    await this.#loading;
  }

  /** Reports whether a single customer owns all hosts below it. Returns false before the list is loaded. */
  isOwned(host: string): boolean {
    return this.#getDomain !== undefined && this.#getDomain(host, { allowPrivateDomains: true, extractHostname: false }) !== null;
  }
}

/**
 * Accepts or refuses the additions that a plugin requests. Script sources must name hosts: `https:`, `data:` or `*.com` would allow any
 * injected script.
 */
export function choosePolicy(additions: readonly PolicyAddition[], suffixes: PublicSuffixes): PolicyChoice {
  const isTaken = (directive: string, value: string): boolean =>
    plainSource.test(value) && (!scriptDirectives.has(directive) || isNamedHost(value, suffixes));
  const refused = additions.flatMap(({ directive, values }) =>
    values.filter((value) => !isTaken(directive, value)).map((value) => `${directive} ${value}`),
  );
  const taken = additions.map(({ directive, values }) => ({ directive, values: values.filter((value) => isTaken(directive, value)) }));
  return { taken, refused };
}

function isNamedHost(value: string, suffixes: PublicSuffixes): boolean {
  const { wildcard, host } = hostSource.exec(value)?.groups ?? {};
  if (host === undefined) return false;
  return wildcard === undefined || suffixes.isOwned(host);
}

const isWildcard = (value: string): boolean => hostSource.exec(value)?.groups?.wildcard !== undefined;
