import { type Key, language, t } from '../../../../text/text';
import { findKind } from '../find-kind';
import { RelatedTable } from '../related/related-table';
import type { Section, SectionProps } from '../section';
import { selectorText } from '../selector';
import { policySentences, type Speech } from './network-policy';

const speech = (): Speech => ({
  say: (key, values) => t(`policy.${key}` as Key, values),
  or: (texts) => new Intl.ListFormat(language.value, { type: 'disjunction' }).format(texts),
});

function Sentences({ object }: SectionProps) {
  const { ingress, egress } = policySentences(object, speech());
  return (
    <>
      {[
        [t('policy.incoming'), ingress],
        [t('policy.outgoing'), egress],
      ].map(([title, sentences]) => (
        <article key={String(title)} class="part">
          <h3>{title}</h3>
          <ul class="sentences">
            {(sentences as readonly string[]).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </article>
      ))}
      <p class="muted">{t('policy.additive')}</p>
    </>
  );
}

function PolicyPods({ kinds, object: { metadata, spec } }: SectionProps) {
  const [pods, labelSelector] = [findKind(kinds, 'pods'), selectorText(spec?.podSelector ?? {})];
  if (pods === undefined || labelSelector === undefined) return <p class="muted">{t('object.notServed', { kind: 'pods' })}</p>;
  return (
    <RelatedTable kinds={kinds} kind={pods} namespace={metadata.namespace} selection={{ labelSelector }} label={t('policy.selected')} />
  );
}

export const policySections: readonly Section[] = [
  { title: 'policy.rules', View: Sentences },
  { title: 'policy.selected', View: PolicyPods },
];
