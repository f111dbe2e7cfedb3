import { type Signal, useSignal } from '@preact/signals';
import { t } from '../../text/text';
import { CheckField, Field } from '../../ui/form';

/** Fields of a machine user, which acts by the tokens of workloads. */
export function useFederation() {
  return { isMachine: useSignal(false), issuer: useSignal(''), audience: useSignal(''), claims: useSignal('') };
}

export type FederationValues = ReturnType<typeof useFederation>;

/** Returns the member of a new user; undefined for a person. */
export function federationIn({ isMachine, issuer, audience, claims }: FederationValues) {
  if (!isMachine.value) return undefined;
  const words = claims.value.split(/\s+/).filter(Boolean);
  const given = words.map((word) => [word.split('=', 1)[0] ?? '', word.slice(word.indexOf('=') + 1)] as const);
  return [{ issuer: issuer.value, audience: audience.value, claims: Object.fromEntries(given) }];
}

export function KindChoice({ isMachine }: { isMachine: Signal<boolean> }) {
  const choose = (machine: boolean) => () => {
    isMachine.value = machine;
  };
  return (
    <fieldset>
      <legend>{t('federation.kind')}</legend>
      <CheckField type="radio" name="kind" label={t('federation.person')} isChecked={!isMachine.value} onChange={choose(false)} />
      <CheckField type="radio" name="kind" label={t('federation.machine')} isChecked={isMachine.value} onChange={choose(true)} />
    </fieldset>
  );
}

const example = 'sub=repo:acme/shop:ref:refs/heads/main';

export const FederationFields = ({ of: { issuer, audience, claims } }: { of: FederationValues }) => (
  <>
    <Field label={t('tls.issuer')} name="spec.federation[0].issuer" value={issuer} isRequired isCode hint={t('federation.issuerHint')} />
    <Field label={t('federation.audience')} name="spec.federation[0].audience" value={audience} isRequired isCode />
    <Field
      label={t('federation.claims')}
      name="spec.federation[0].claims"
      value={claims}
      isRequired
      isCode
      hint={t('federation.claimsHint', { example })}
    />
  </>
);
