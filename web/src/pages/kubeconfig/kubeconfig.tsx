import { type Signal, useSignal } from '@preact/signals';
import { Download, FileBadge } from 'lucide';
import { api, base, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { isPage, problemOf } from '../../api/problem';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { person } from '../../app/session';
import { dateTime, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { saveAs } from '../../ui/save-as';
import { Notice } from '../../ui/state';
import { Program } from './program';

/** @param issuer id of one of the user's issuers; '' for that of this login */
async function kubeconfig(issuer: string, signal: AbortSignal): Promise<string> {
  const address = new URL('auth/v1/kubeconfig', base);
  if (issuer !== '') address.searchParams.set('issuer', issuer);
  const response = await fetch(address, { signal });
  if (!response.ok || isPage(response)) throw await problemOf(response);
  return response.text();
}

const saveYaml = (text: string, name: string) => saveAs(name, new Blob([text], { type: 'application/yaml' }));

export function Page() {
  const issuer = useSignal('');
  const name = person.value?.ext.user ?? '';
  const right = { verb: 'create', resource: 'users', subresource: 'authorize', name };
  useRights(name ? [right] : []);
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('kubeconfig.title')}</h1>
        {name && <RefusedMenu of={[{ rights: [right], label: t('certificate.create'), icon: FileBadge }]} />}
      </header>
      <p class="muted measure">{t('kubeconfig.what')}</p>
      <IssuerChoice chosen={issuer} />
      <File issuer={issuer.value} />
      <Program />
      {name && may(right) === true && <Certificate />}
    </section>
  );
}

/** Lets a user with accounts at several issuers choose: kubectl has another name, and other rights, at each. */
function IssuerChoice({ chosen }: { chosen: Signal<string> }) {
  const load = useLoad('linked-accounts', (signal) => bodyOf(api.GET('/auth/v1/links', { signal })));
  const { items = [] } = load.data.value ?? {};
  if (items.length < 2) return null;
  const isOwn = ({ subjectName }: Schemas['LinkedAccount']) => subjectName === person.value?.name;
  return (
    <Field label={t('kubeconfig.issuer')} name="issuer" value={chosen}>
      {items
        .toSorted((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
        .map((account) => (
          <option key={account.id} value={isOwn(account) ? '' : account.issuer}>
            {`${account.name} (${account.subjectName})`}
          </option>
        ))}
    </Field>
  );
}

const commands = `export KUBECONFIG="$PWD/kubeconfig.yaml"
kubectl atrium login
kubectl get pods`;

function File({ issuer }: { issuer: string }) {
  const load = useLoad(`kubeconfig/${issuer}`, (signal) => kubeconfig(issuer, signal));
  // Neither the cluster nor the console accepts tokens of that issuer.
  if (load.error.value?.causes.some(({ field }) => field === 'via')) return <Notice kind="info">{t('kubeconfig.noTokens')}</Notice>;
  return (
    <Loaded load={load}>
      {(text) => (
        <>
          <Copy text={text} label={t('kubeconfig.title')} />
          <div class="buttons">
            <Button kind="main" icon={Download} onClick={() => saveYaml(text, 'kubeconfig.yaml')}>
              {t('kubeconfig.download')}
            </Button>
          </div>
          <Copy text={commands} label={t('kubeconfig.commands')} />
        </>
      )}
    </Loaded>
  );
}

const hours = [1, 4, 8, 24];

/** Issues certificates for programs that cannot log in. A certificate cannot be revoked, so it is short-lived. */
function Certificate() {
  const length = useSignal('1');
  const made = useSignal<Schemas['UserCertificate'] | undefined>(undefined);
  async function create(): Promise<void> {
    const spec = { expirationSeconds: Number(length.value) * 3600 };
    made.value = (await bodyOf(api.POST('/auth/v1/authorize', { body: { spec } }))) as Schemas['UserCertificate'];
  }
  const { value } = made;
  return (
    <section class="card" aria-labelledby="certificate-title">
      <h2 id="certificate-title">{t('certificate.title')}</h2>
      <Notice kind="warn">{t('certificate.what')}</Notice>
      {value === undefined ? (
        <Form action={t('certificate.create')} onSubmit={create}>
          <Field label={t('certificate.hours')} name="spec.expirationSeconds" value={length}>
            {hours.map((count) => (
              <option key={count} value={count}>
                {t('certificate.for', { count })}
              </option>
            ))}
          </Field>
        </Form>
      ) : (
        <>
          <p>{t('certificate.made', { until: dateTime(value.status.notAfter) })}</p>
          <Copy text={value.status.kubeconfig} label={t('kubeconfig.title')} />
          <div class="buttons">
            <Button icon={Download} onClick={() => saveYaml(value.status.kubeconfig, 'kubeconfig-certificate.yaml')}>
              {t('kubeconfig.download')}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}
