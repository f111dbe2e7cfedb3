/**
 * Matches `/users/:name/:tab?` against a path; `:path*` takes the rest.
 *
 * @returns the values at the colons
 */
export function match(pattern: string, actual: string): Record<string, string> | undefined {
  const [wanted, parts] = [pattern, actual].map((text) => text.replace(/\/$/, '').split('/')) as [string[], string[]];
  const rest = wanted.at(-1)?.endsWith('*') ? wanted.length - 1 : undefined;
  if (rest !== undefined) parts.splice(rest, Infinity, parts.slice(rest).join('/'));
  const texts = parts.map(decoded);
  if (parts.length > wanted.length || texts.includes(undefined)) return undefined;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = parts[index];
    if (part.startsWith(':')) {
      if (given === undefined && !part.endsWith('?')) return undefined;
      const text = texts[index];
      if (text !== undefined) found[part.replace(/[:?*]/g, '')] = text;
    } else if (part !== given) return undefined;
  }
  return found;
}

/** Returns undefined for a text with a percent sign that encodes no character: no page has such an address. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
