import { getDomain } from 'tldts';

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
 * Sorts what a plugin asks for. Scripts come from hosts that are named: with `https:`, `data:` or `*.com` anything that could be written
 * into a page would run.
 */
export function choosePolicy(additions: readonly PolicyAddition[]): PolicyChoice {
  const refused = additions.flatMap(({ directive, values }) =>
    values.filter((value) => !isTaken(directive, value)).map((value) => `${directive} ${value}`),
  );
  const taken = additions.map(({ directive, values }) => ({ directive, values: values.filter((value) => isTaken(directive, value)) }));
  return { taken, refused };
}

const isTaken = (directive: string, value: string): boolean =>
  plainSource.test(value) && (!scriptDirectives.has(directive) || isNamedHost(value));

/** Below a public suffix such as `co.uk` or `github.io` every customer can have a host. */
function isNamedHost(value: string): boolean {
  const { wildcard, host } = hostSource.exec(value)?.groups ?? {};
  if (host === undefined) return false;
  return wildcard === undefined || getDomain(host, { allowPrivateDomains: true, extractHostname: false }) !== null;
}
