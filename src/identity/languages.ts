import type { Context } from 'koa';
import type { Config } from '../config/schema.ts';
import { type Texts, textsByLanguage } from './texts.ts';

const primary = (tag: string): string => tag.split('-', 1)[0]?.toLowerCase() ?? '';

/**
 * Chooses the language of a page among those of the console that there are texts in: `ui_locales` (OpenID Connect Core 3.1.2.1), then
 * Accept-Language, then the first one; English if there are texts in none of them.
 */
export function languageChoice(languages: Config['console']['languages']): (ctx: Context, uiLocales?: unknown) => Texts {
  const offered = languages.map(({ id }) => primary(id)).filter((language) => language in textsByLanguage);
  const fallback = offered[0] ?? 'en';
  return (ctx, uiLocales) => {
    const asked = typeof uiLocales === 'string' ? uiLocales.split(' ').map(primary) : [];
    const accepted = offered.length > 0 && ctx.get('Accept-Language') !== '' ? ctx.acceptsLanguages(offered) : false;
    const language = asked.find((tag) => offered.includes(tag)) ?? (accepted || fallback);
    return textsByLanguage[String(language)] ?? textsByLanguage.en;
  };
}

/** 1200 seconds are `20 minutes`, in the language of the texts. */
export function durationText({ tag }: Texts, seconds: number): string {
  const [unit, size] = seconds >= 7200 ? (['hour', 3600] as const) : seconds >= 60 ? (['minute', 60] as const) : (['second', 1] as const);
  return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.ceil(seconds / size));
}
