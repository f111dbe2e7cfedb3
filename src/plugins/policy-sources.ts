import type { getDomain } from 'tldts';

/** Sources for one directive, named as the definition of ConsolePlugins names it. */
export interface PolicyAddition {
  readonly directive: string;
  readonly values: readonly string[];
}

/** What is taken into the policy of pages, and what is not. */
export interface PolicyChoice {
  readonly taken: readonly PolicyAddition[];
  readonly refused: readonly string[];
}

/** No quoted keyword, no separator, no wildcard for everything: an addition names hosts and schemes, it does not lift the policy. */
const plainSource = /^(?!\*$)[!#-&(-+\-.-:<-~]+$/;

/** A host that is named, with or without scheme, port and path (CSP 3, 2.3.1). */
const hostSource = /^(?:(?:https?|wss?):\/\/)?(?<wildcard>\*\.)?(?<host>[\w-]+(?:\.[\w-]+)*)(?::(?:\d{1,5}|\*))?(?:\/.*)?$/i;

/** These say where scripts come from: `script-src`, and what stands for it where there is none. */
const scriptDirectives = new Set(['ScriptSrc', 'DefaultSrc']);

/**
 * Hosts below which every customer can have one, such as `co.uk` and `github.io`. The list takes 3 MB, and few plugins need it: it is
 * loaded for the first of them.
 */
export class PublicSuffixes {
  #getDomain: typeof getDomain | undefined;
  #loading: Promise<void> | undefined;

  /** Grows when it is there, by which answers change. */
  get revision(): number {
    return this.#getDomain === undefined ? 0 : 1;
  }

  get isLoading(): boolean {
    return this.#loading !== undefined && this.#getDomain === undefined;
  }

  /** Loads it if what a plugin asks for is judged by it. */
  async loadFor(additions: readonly PolicyAddition[]): Promise<void> {
    const isNeeded = additions.some(({ directive, values }) => scriptDirectives.has(directive) && values.some(isWildcard));
    if (!isNeeded) return;
    this.#loading ??= import('tldts').then((list) => {
      this.#getDomain = list.getDomain;
    });
    await this.#loading;
  }

  /** Whether one customer has all hosts below it. Before the list is there, none has. */
  isOwned(host: string): boolean {
    return this.#getDomain !== undefined && this.#getDomain(host, { allowPrivateDomains: true, extractHostname: false }) !== null;
  }
}

/**
 * Sorts what a plugin asks for. Scripts come from hosts that are named: with `https:`, `data:` or `*.com` anything that could be written
 * into a page would run.
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
