import type { Texts } from '../texts/texts.ts';
import type { Notice } from '../users/record/notice.ts';
import { hidden } from './form-parts.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { accountOf, type Step } from './step.ts';
import { formTargetsOf, textsOf } from './visit.ts';

/** Shows the notices about the user's credentials since the last login, and deletes those that the user has confirmed. */
export const noticesStep: Step = {
  async show(parts, visit, { progress }) {
    const { notices } = progress;
    if (notices === undefined) return undefined;
    const proof = parts.progress.seal(progress, 'notices');
    return noticesPage(textsOf(parts, visit), { proof, notices, formTargets: formTargetsOf(visit) });
  },

  async take(parts, _visit, { notices = [], ...progress }) {
    const account = accountOf(parts, progress);
    await parts.notices.remove(account, notices);
    return { progress, account };
  },
};

interface NoticesForm {
  /** Sealed proof of the previous steps. */
  proof: string;
  /** Oldest first. */
  notices: readonly Notice[];
  formTargets: readonly string[];
}

function noticesPage(texts: Texts, { proof, notices, formTargets }: NoticesForm): Page {
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
