/** Name and appearance of an installation, for the login pages and, built into them, the pages of the console. */

export interface Brand {
  title?: string;
  /** Path of an image on this service, without the base path. */
  logo?: string;
  /** `#rrggbb`; present only if it is readable on every surface of its theme. */
  accent: { light?: string; dark?: string };
}

/** Surfaces behind text, as in web/src/ui/base.css. */
const surfaces = {
  light: ['#ffffff', '#f5f7fa', '#edf0f4', '#e8f0fd'],
  dark: ['#0f1318', '#171d25', '#1f2731', '#18263d'],
} as const;
/** WCAG 2.2, 1.4.3 */
const leastContrast = 4.5;
const longestTitle = 64;

/** @param variables of the console, by name: `brand.title`, `brand.logo`, `brand.accentLight`, `brand.accentDark` */
export function brandOf(variables: Readonly<Record<string, string | undefined>>): Brand {
  const title = variables['brand.title']?.trim().slice(0, longestTitle);
  const logo = variables['brand.logo'];
  const light = readable(variables['brand.accentLight'], surfaces.light);
  const dark = readable(variables['brand.accentDark'], surfaces.dark);
  return {
    ...(title && { title }),
    ...(logo !== undefined && /^\/(?!\/)[-._~\w/]*$/.test(logo) && !logo.includes('..') && { logo }),
    accent: { ...(light && { light }), ...(dark && { dark }) },
  };
}

function readable(color: string | undefined, on: readonly string[]): string | undefined {
  if (color === undefined || !/^#[0-9a-f]{6}$/i.test(color)) return undefined;
  return on.every((surface) => contrast(color, surface) >= leastContrast) ? color.toLowerCase() : undefined;
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((left, right) => left - right);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
