import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { primary, type Texts, type Translations } from '../texts/texts.ts';
import { type Html, html, htmlText, scriptElement, styleElement } from './html.ts';

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

/** Contrast is 4.5:1 or more for text and 3:1 or more for borders and focus, in both colour schemes (WCAG 2.2, 1.4.3 and 1.4.11). */
const style = `
:root{color-scheme:light dark;--page:light-dark(#f5f7fa,#0f1318);--card:light-dark(#fff,#171d25);--text:light-dark(#1b2430,#e6eaf0);--faint:light-dark(#556070,#a0acbb);--line:light-dark(#7d8795,#6f7c8d);--edge:light-dark(#dfe4ea,#2a333f);--action:light-dark(#1f5fd0,#7fb0ff);--on-action:light-dark(#fff,#0b1524);--bad:light-dark(#b3261e,#ff9a90)}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1rem;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
main{width:100%;max-width:25rem;padding:2rem;background:var(--card);border:1px solid var(--edge);border-radius:.75rem;overflow-wrap:anywhere}
@media (max-width:30rem){body{padding:0;place-items:start stretch;background:var(--card)}main{max-width:none;padding:1.5rem 1rem;border:0;border-radius:0}}
img{display:block;max-width:100%;height:3rem;margin-bottom:1rem}
.name{margin:0;color:var(--faint);font-weight:600}
h1{margin:0 0 .75rem;font-size:1.5rem;line-height:1.25}
p{margin:0 0 1rem}
p:last-child{margin:0}
form+.faint,form+button+.faint,[data-passkey]+form{margin-top:1rem}
.faint{color:var(--faint);font-size:.9375rem}
.bad{margin:0 0 1rem;padding:.75rem 1rem;border:1px solid var(--edge);border-inline-start:.25rem solid var(--bad);border-radius:.375rem;background:var(--page)}
label{display:block;margin-bottom:.25rem;font-weight:600}
input,button,.button{width:100%;min-height:2.75rem;padding:.5rem .75rem;border-radius:.375rem;font:inherit}
input{margin-bottom:1rem;border:1px solid var(--line);background:transparent;color:inherit}
input[aria-invalid]{border-color:var(--bad);border-width:2px}
button,.button{display:block;margin-top:.5rem;border:1px solid var(--action);background:var(--action);color:var(--on-action);font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
button.second,.button.second{background:transparent;color:var(--action)}
.faint a{color:inherit}
:focus-visible{outline:2px solid var(--action);outline-offset:2px}
.qr{display:block;width:14rem;max-width:100%;margin:0 auto 1rem;background:#fff;fill:#000;border-radius:.375rem}
.key,.codes{font:600 1rem/1.75 ui-monospace,monospace;text-align:center}
.codes{margin:0 0 1rem;padding:0;list-style:none}
.notices{margin:0 0 1rem;padding:0;list-style:none}
.notices li{padding:.5rem 0;border-bottom:1px solid var(--edge)}
.code{font:700 1.5rem/1.5 ui-monospace,monospace;letter-spacing:.1em;text-align:center}
`;

/** Returns the style sheet with the colours of the installation, and its digest for the Content-Security-Policy. */
const styleOf = memo(({ light, dark }: Look['brand']['accent']) => {
  const own = light || dark ? `:root{--action:light-dark(${light ?? '#1f5fd0'},${dark ?? '#7fb0ff'})}` : '';
  return { text: style + own, hash: `'sha256-${hash('sha256', style + own, 'base64')}'` };
});

/** Returns the source expression that allows the script in the Content-Security-Policy. */
const scriptHash = memo((script: string) => `'sha256-${hash('sha256', script, 'base64')}'`);

/** Caches the result for the last value only, because the value rarely changes. */
function memo<T, R>(make: (value: T) => R): (value: T) => R {
  let last: { key: string; made: R } | undefined;
  return (value) => {
    const key = JSON.stringify(value);
    if (last?.key !== key) last = { key, made: make(value) };
    return last.made;
  };
}

/** Title, logo and colours of all pages of the provider. */
export interface Look {
  title: string;
  /** Path of an image on this host. */
  logo: string | undefined;
  brand: { title?: string; logo?: string; accent: { light?: string; dark?: string } };
}

export interface Page {
  texts: Texts;
  heading: string;
  content: Html;
  /** Marks a heading that reports a failure; the title of the document then has a prefix. */
  isFailure?: boolean;
  /** Origins besides our own to which a form may lead: browsers apply the policy to redirects after the form, too. */
  formTargets?: readonly string[];
  /** Keeps the path of the page out of the Referer header, also for this service. */
  isSecretAddress?: true;
  /** Script of a passkey or a logout. */
  script?: string | undefined;
}

/** Answers with a page that runs only our script, loads nothing from other hosts, and is neither framed nor stored. */
export function sendPage(ctx: Context, look: Look, page: Page): void {
  const { texts, heading, content, isFailure = false, formTargets = [], isSecretAddress, script } = page;
  const { text: css, hash: styleHash } = styleOf(look.brand.accent);
  ctx.set({
    'Content-Security-Policy': `default-src 'none'; style-src ${styleHash}; ${script === undefined ? '' : `script-src ${scriptHash(script)}; `}img-src 'self'; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`,
    'X-Frame-Options': 'DENY',
    'Cache-Control': 'no-store',
    // With no-referrer, browsers would send `Origin: null` along with the forms.
    'Referrer-Policy': isSecretAddress ? 'strict-origin' : 'same-origin',
  });
  ctx.vary('Accept-Language, Cookie');
  const named = [heading, look.title].join(' – ');
  ctx.type = 'html';
  ctx.body = htmlText(html`<!DOCTYPE html>
<html lang="${texts.tag}"${texts.direction === 'rtl' && html` dir="rtl"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${named}">
<meta name="robots" content="noindex">
<title>${isFailure && `${texts.t('identity.errorPrefix')}: `}${named}</title>
${styleElement(css)}
</head>
<body>
<main>
${look.logo !== undefined && html`<img src="${look.logo}" alt="">`}
<p class="name">${look.title}</p>
<h1>${heading}</h1>
${content}
</main>
${script !== undefined && scriptElement(script)}
</body>
</html>
`);
}
