import type { Texts } from '../texts/texts.ts';
import type { Notice } from '../users/record/notice.ts';
import { hidden } from './form-parts.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';

interface NoticesForm {
  /** Sealed proof of the previous steps. */
  proof: string;
  /** Oldest first. */
  notices: readonly Notice[];
  formTargets: readonly string[];
}

/** Shows the notices about the user's credentials since the last login. */
export function noticesPage(texts: Texts, { proof, notices, formTargets }: NoticesForm): Page {
  const format = new Intl.DateTimeFormat(texts.tag, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return {
    texts,
    heading: texts.t('identity.notices.page.title'),
    formTargets,
    content: html`<p>${texts.t('identity.notices.page.lead')}</p>
<ul class="notices">${notices.toReversed().map(({ type, time }) => html`<li>${texts.t(`identity.notices.titles.${type}`)}<br><span class="faint">${format.format(new Date(time))} UTC</span></li>`)}</ul>
<p>${texts.t('identity.notices.page.notYou')}</p>
<form method="post">
${hidden('proof', proof)}
<button name="noticed" value="yes">${texts.t('identity.notices.page.proceed')}</button>
</form>`,
  };
}
