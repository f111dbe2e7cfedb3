import type { Context } from 'koa';
import { primary, type Texts, type Translations } from '../texts/texts.ts';

/**
 * Chooses the language of a page among those of the console that have texts: `ui_locales` (OpenID Connect Core 3.1.2.1), then
 * Accept-Language, then the first one; English if none has texts.
 */
export function languageChoice(translations: Translations): (ctx: Context, uiLocales?: unknown) => Texts {
  return (ctx, uiLocales) => {
    const offered = translations.offered().map(primary);
    const asked = typeof uiLocales === 'string' ? uiLocales.split(' ').map(primary) : [];
    const accepted = offered.length > 0 && ctx.get('Accept-Language') !== '' ? ctx.acceptsLanguages(offered) : false;
    const language = asked.find((tag) => offered.includes(tag)) ?? (accepted || (offered[0] ?? 'en'));
    return translations.of(String(language));
  };
}

/** Formats a duration in the language of the texts, such as 1200 seconds as `20 minutes`. */
export function durationText({ tag }: Texts, seconds: number): string {
  const [unit, size] = seconds >= 7200 ? (['hour', 3600] as const) : seconds >= 60 ? (['minute', 60] as const) : (['second', 1] as const);
  return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.ceil(seconds / size));
}
