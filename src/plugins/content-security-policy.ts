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

const directiveNames: ReadonlyMap<string, string> = new Map([
  ['DefaultSrc', 'default-src'],
  ['ScriptSrc', 'script-src'],
  ['StyleSrc', 'style-src'],
  ['ImgSrc', 'img-src'],
  ['FontSrc', 'font-src'],
  ['ConnectSrc', 'connect-src'],
]);

/** Bound of the policy: proxies commonly accept 8 KiB of headers. */
const maxLength = 6 * 1024;

interface MergedPolicy {
  text: string;
  /** Number of additions that exceed the bound. */
  leftOut: number;
}

/**
 * Merges the additions into the policy. Sources are used unchanged, because the caller has already removed refused ones.
 *
 * A new directive starts with the sources of `default-src`, which would otherwise no longer apply (CSP 3, 6.8.3).
 */
export function mergePolicy(policy: string, additions: readonly PolicyAddition[]): MergedPolicy {
  if (additions.length === 0) return { text: policy, leftOut: 0 };
  let room = maxLength - policy.length;
  let leftOut = 0;
  const directives = new Map<string, string[]>();
  for (const part of policy.split(';')) {
    const [name, ...sources] = part.trim().split(/\s+/);
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), sources);
  }
  // Additions to `default-src` come first, so that new directives start with all of its sources.
  for (const { directive, values: sources } of [...additions.filter(isDefault), ...additions.filter((addition) => !isDefault(addition))]) {
    const name = directiveNames.get(directive);
    if (name === undefined || sources.length === 0) continue;
    const present = directives.get(name) ?? directives.get('default-src') ?? [];
    const merged = [...new Set([...present.filter((source) => source !== "'none'"), ...sources])];
    const growth = [name, ...merged].join(' ').length - (directives.get(name)?.join(' ').length ?? 0);
    if (growth > room) leftOut += 1;
    else {
      room -= growth;
      directives.set(name, merged);
    }
  }
  return { text: [...directives].map((directive) => directive.flat().join(' ')).join('; '), leftOut };
}

const isDefault = ({ directive }: PolicyAddition) => directive === 'DefaultSrc';
