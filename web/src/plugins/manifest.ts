import { language } from '../text/text';

/** Manifest of contract 1. Members that it does not define belong to later contracts. */
export interface Manifest {
  version: string;
  displayName: string | Record<string, string>;
  contract: unknown;
  entry: string | undefined;
  styles: readonly string[];
  locales: readonly string[];
  integrity: Readonly<Record<string, string>>;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);

/** Returns the members that are texts; none of a value that is no object. */
export function textsByName(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string'));
}

/** @throws Error if the text is no JSON object: a SyntaxError would pass for an answer that was cut */
export function readObject(text: string, file: string): Record<string, unknown> {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is no JSON: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error(`${file} is no JSON object`);
  return given as Record<string, unknown>;
}

/** @throws Error if the text is no JSON object */
export function readManifest(text: string): Manifest {
  const member = readObject(text, 'plugin-manifest.json');
  return {
    version: textOf(member.version) ?? '',
    displayName: textOf(member.displayName) ?? textsByName(member.displayName),
    contract: member.contract,
    entry: textOf(member.entry),
    styles: textsOf(member.styles),
    locales: textsOf(member.locales),
    integrity: textsByName(member.integrity),
  };
}

/** Returns the name in the current language, or else in English or the first language of the manifest. */
export const displayNameOf = ({ displayName }: Manifest, otherwise: string): string =>
  (typeof displayName === 'string' ? displayName : (displayName[language.value] ?? displayName.en ?? Object.values(displayName)[0])) ||
  otherwise;
