import type { Schemas } from '../../api/client';
import { t } from '../../text/text';
import { Facts } from '../../ui/facts';

/** The tokens of workloads by which a machine user acts. */
export function Federation({ user: { spec } }: { user: Schemas['User'] }) {
  if (spec.connector_type !== 'machine') return null;
  return (
    <section class="card" aria-labelledby="federation-title">
      <h2 id="federation-title">{t('federation.title')}</h2>
      <p class="muted">{t('federation.what')}</p>
      {spec.federation?.map(({ issuer, audience, claims, once }, index) => (
        <Facts
          key={index}
          of={[
            [t('tls.issuer'), <code key="issuer">{issuer}</code>],
            [t('federation.audience'), <code key="audience">{audience}</code>],
            [t('federation.claims'), Object.entries(claims).map(([name, text]) => <ClaimText key={name} name={name} text={text} />)],
            [t('federation.use'), once && t('federation.once')],
          ]}
        />
      ))}
    </section>
  );
}

const ClaimText = ({ name, text }: { name: string; text: string }) => (
  <div>
    <code>
      {name}: {text}
    </code>
  </div>
);
