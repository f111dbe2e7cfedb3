import type { Config } from '../config/schema.ts';

/** Response of HandleLanguages. */
export interface LanguagesInfo {
  availableLanguages: { id: string; name: string }[];
}

export const languagesInfo = ({ console: { languages } }: Config): LanguagesInfo => ({
  availableLanguages: languages.map(({ id, name }) => ({ id, name })),
});
