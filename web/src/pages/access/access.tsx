import { useSignal } from '@preact/signals';
import { CircleCheck, CircleX } from 'lucide';
import { api, base, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { explain, inWords, type Right } from '../../app/rights';
import { href } from '../../app/router';
import { person } from '../../app/session';
import { t } from '../../text/text';
import { Field, Form } from '../../ui/form';
import { Icon } from '../../ui/icon';
import { Loaded } from '../../ui/loaded';
import { Empty } from '../../ui/state';

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate', 'bind', 'escalate'];

interface Kinds {
  items: { metadata: { name?: string }; versions: { freshness?: string; resources: { resource: string }[] }[] }[];
}

interface Known {
  names: string[];
  /** Discovery told all groups. */
  isWhole: boolean;
}

/** Resources of RBAC that no discovery tells: all, and the objects of impersonation. */
const isVirtual = (right: Right): boolean => right.resource.includes('*') || right.verb === 'impersonate';

/** Resources by `name.group`, as kubectl writes them. */
async function resources(signal: AbortSignal): Promise<Known> {
  const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const lists = await Promise.all(
    ['api', 'apis'].map(async (path) => {
      const response = await fetch(new URL(`api/kubernetes/${path}`, base), { headers: { Accept }, signal });
      return response.ok ? ((await response.json()) as Partial<Kinds>).items : undefined;
    }),
  );
  const names = lists.flatMap((list) =>
    (list ?? []).flatMap(({ metadata, versions }) =>
      versions.flatMap((version) => version.resources.map(({ resource }) => (metadata.name ? `${resource}.${metadata.name}` : resource))),
    ),
  );
  const isStale = lists.some((list) => list?.some(({ versions }) => versions.some(({ freshness }) => freshness === 'Stale')));
  return { names: [...new Set(names)].sort(), isWhole: lists.every((list) => list !== undefined) && !isStale };
}

interface Answer {
  right: Right;
  status: Schemas['AccessStatus'];
}

/** "May I?", with the reason, or with what would be needed. */
export function Page() {
  const [verb, resource, namespace, name] = [useSignal('list'), useSignal('pods'), useSignal(''), useSignal('')];
  const answer = useSignal<Answer | undefined>(undefined);
  const known = useLoad('resources', resources);
  const namespaces = useLoad('namespaces/mine', (signal) =>
    bodyOf(api.GET('/auth/v1/namespaces', { params: { query: { verb: 'get', resource: 'pods', limit: 500 } }, signal })),
  );
  const namespaceNames = namespaces.data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  async function ask(): Promise<void> {
    const [plural = '', ...group] = resource.value.trim().split('.');
    const [kind = '', subresource] = plural.split('/');
    const right: Right = {
      verb: verb.value,
      group: group.join('.'),
      resource: kind,
      ...(subresource && { subresource }),
      ...(namespace.value && { namespace: namespace.value }),
      ...(name.value && { name: name.value }),
    };
    answer.value = undefined;
    const plain = [kind, ...group].join('.');
    const { names, isWhole } = known.data.value ?? { names: [], isWhole: false };
    if (isWhole && !isVirtual(right) && !names.includes(plain)) throw new Error(t('access.unknown', { resource: plain }));
    answer.value = { right, status: await explain(right) };
  }
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('access.title')}</h1>
      </header>
      <div class="cards">
        <section class="card" aria-labelledby="ask-title">
          <h2 id="ask-title">{t('access.ask')}</h2>
          <Form action={t('access.askButton')} onSubmit={ask}>
            <Field label={t('access.verb')} name="spec.resourceAttributes.verb" value={verb}>
              {verbs.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </Field>
            <Field
              label={t('access.resource')}
              name="spec.resourceAttributes.resource"
              value={resource}
              isRequired
              suggestions={known.data.value?.names ?? []}
              hint={t('access.resourceHint')}
            />
            <Field
              label={t('access.namespace')}
              name="spec.resourceAttributes.namespace"
              value={namespace}
              suggestions={namespaceNames}
              hint={t('access.namespaceHint')}
            />
            <Field label={t('access.name')} name="spec.resourceAttributes.name" value={name} hint={t('access.nameHint')} />
          </Form>
          {answer.value && <Verdict {...answer.value} />}
        </section>
        <section class="card" aria-labelledby="mine-title">
          <h2 id="mine-title">{t('access.mine')}</h2>
          <p class="muted">{t('access.mineWhat')}</p>
          <Loaded load={namespaces}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty text={t('access.none')} />
              ) : (
                <ul class="chips">
                  {items.map(({ metadata }) => (
                    <li key={metadata.name} class="chip">
                      {metadata.name}
                    </li>
                  ))}
                </ul>
              )
            }
          </Loaded>
        </section>
      </div>
    </section>
  );
}

function Verdict({ right, status }: Answer) {
  const { allowed, reason, evaluationError, explanation } = status;
  const roles = explanation && 'roles' in explanation ? explanation.roles : [];
  const found = explanation && 'binding' in explanation ? explanation : undefined;
  return (
    <div class={`notice ${allowed ? 'ok' : 'bad'}`} role="status">
      <p class={`phase ${allowed ? 'ok' : 'bad'}`}>
        <Icon of={allowed ? CircleCheck : CircleX} />
        <strong>{t(allowed ? 'access.yes' : 'access.no', { name: person.value?.name ?? '' })}</strong>
      </p>
      <p>
        {t('access.asked')} <code>{inWords(right)}</code>
      </p>
      {found ? (
        <p>
          {t('access.because', {
            role: found.role.name,
            binding: found.binding.userBinding ?? found.binding.name,
            subject: found.subject.name,
          })}{' '}
          {found.binding.userBinding && <a href={href(`/bindings/${found.binding.userBinding}`)}>{t('access.openBinding')}</a>}
        </p>
      ) : (
        (reason || evaluationError) && <p>{reason || evaluationError}</p>
      )}
      {!allowed && (
        <p class="muted">
          {roles.length > 0 ? t('rights.roles', { roles: roles.map((role) => role.name).join(', ') }) : t('rights.noRole')}
        </p>
      )}
    </div>
  );
}
