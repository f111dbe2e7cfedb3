import type { Notice } from '../users/record/notice.ts';
import { hidden } from './form-parts.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import type { Texts } from './texts.ts';

interface NoticesForm {
  /** What was proved before. */
  proof: string;
  /** The oldest first. */
  notices: readonly Notice[];
  formTargets: readonly string[];
}

/** Tells what has happened to the login since the last one. */
export function noticesPage(texts: Texts, { proof, notices, formTargets }: NoticesForm): Page {
  const { titles, page } = texts.notices;
  const format = new Intl.DateTimeFormat(texts.tag, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return {
    texts,
    heading: page.title,
    formTargets,
    content: html`<p>${page.lead}</p>
<ul class="notices">${notices.toReversed().map(({ type, time }) => html`<li>${titles[type]}<br><span class="faint">${format.format(new Date(time))} UTC</span></li>`)}</ul>
<p>${page.notYou}</p>
<form method="post">
${hidden('proof', proof)}
<button name="noticed" value="yes">${page.proceed}</button>
</form>`,
  };
}
