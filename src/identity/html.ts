const trusted = Symbol('HTML');

/** Trusted HTML. Only this module creates it, so that no input gets into a page unescaped. */
export interface Html {
  readonly [trusted]: string;
}

export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value).replace(/[&<>"']/g, (sign) => escapes[sign] ?? '');
  return trusted in value ? value[trusted] : value.map(textOf).join('');
}

/** Builds HTML: escapes text (for elements and quoted attributes), omits `undefined` and `false`, and joins lists. */
export const html = (parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html => ({
  [trusted]: parts.reduce((text, part, index) => text + textOf(values[index - 1]) + part),
});

export const htmlText = (page: Html): string => page[trusted];

/** Builds an element of our own style sheet, unescaped, because escapes have another meaning in CSS. */
export const styleElement = (css: string): Html => ({ [trusted]: `<style>${css}</style>` });

/** Builds an element of our own script, unescaped. */
export const scriptElement = (script: string): Html => ({ [trusted]: `<script>${script}</script>` });
