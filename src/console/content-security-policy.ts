/** Sources that a plugin asks for: `ScriptSrc`, `ImgSrc`, … and what is to be allowed there. */
export interface PolicyAddition {
  readonly directive: string;
  readonly values: readonly string[];
}

const directiveNames: Readonly<Record<string, string>> = {
  DefaultSrc: 'default-src',
  ScriptSrc: 'script-src',
  StyleSrc: 'style-src',
  ImgSrc: 'img-src',
  FontSrc: 'font-src',
  ConnectSrc: 'connect-src',
};

/** No quoted keyword, no separator, no wildcard for everything: an addition names hosts and schemes, it does not lift the policy. */
const plainSource = /^(?!\*$)[!#-&(-+\-.-:<-~]+$/;

/**
 * The policy with the additions merged in.
 *
 * A directive that is not there yet begins with the sources of `default-src`, which it would otherwise no longer have (CSP 3, 6.8.3).
 */
export function mergePolicy(policy: string, additions: readonly PolicyAddition[]): string {
  if (additions.length === 0) return policy;
  const directives = new Map<string, string[]>();
  for (const part of policy.split(';')) {
    const [name, ...sources] = part.trim().split(/\s+/);
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), sources);
  }
  for (const { directive, values } of additions) {
    const name = directiveNames[directive];
    const sources = values.filter((value) => plainSource.test(value));
    if (name === undefined || sources.length === 0) continue;
    const present = directives.get(name) ?? directives.get('default-src') ?? [];
    directives.set(name, [...new Set([...present.filter((source) => source !== "'none'"), ...sources])]);
  }
  return [...directives].map((directive) => directive.flat().join(' ')).join('; ');
}
