import type { ComponentChildren } from 'preact';
import { api, bodyOf } from '../../api/client';
import { useLoad } from '../../api/load';
import { useFeatures } from '../../api/version';
import { href } from '../../app/router';
import { person } from '../../app/session';
import { count, relative, t } from '../../text/text';

const soonMs = 14 * 86_400_000;
const fewCodes = 2;

/** Shows matters that need the caller's attention soon. Renders nothing if there are none, or if they cannot be loaded. */
export function Due({ user }: { user: string }) {
  const isOn = useFeatures();
  const own = person.value?.ext.user;
  const tokens = useLoad(isOn('accessTokens') && own ? `tokens/${own}` : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/accesstokens', { params: { query: { limit: 200, user: own ?? '' } }, signal })),
  );
  const factors = useLoad(isOn('factors') && user !== '' ? `factors/${user}` : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/users/{name}/factors', { params: { path: { name: user } }, signal })),
  );
  const { items: ownTokens = [] } = tokens.data.value ?? {};
  const { items: ownFactors = [], isTOTPSuspended = false } = factors.data.value ?? {};
  const factorsPage = `/users/${user}/factors`;
  const due: readonly Item[] = [
    ...ownTokens
      .filter(({ spec }) => spec.expiration && Date.parse(spec.expiration) - Date.now() < soonMs)
      .map(({ metadata, spec }) => ({
        id: metadata.name,
        to: '/tokens',
        text: t('overview.tokenEnds', { name: spec.description || metadata.name, when: relative(spec.expiration ?? '') }),
      })),
    ...ownFactors
      .filter(({ left }) => left !== undefined && left <= fewCodes)
      .map(({ id, left = 0 }) => ({ id, to: factorsPage, text: t('overview.fewCodes', { count: left, shown: count(left) }) })),
    ...(isTOTPSuspended ? [{ id: 'suspended', to: factorsPage, text: t('factors.suspended') }] : []),
  ];
  return due.length > 0 && <DueCard of={due} />;
}

interface Item {
  id: string;
  to: string;
  text: ComponentChildren;
}

const DueCard = ({ of }: { of: readonly Item[] }) => (
  <section class="card" aria-labelledby="due-title">
    <h2 id="due-title">{t('overview.due')}</h2>
    <ul>
      {of.map(({ id, to, text }) => (
        <li key={id}>
          <a href={href(to)}>{text}</a>
        </li>
      ))}
    </ul>
  </section>
);
