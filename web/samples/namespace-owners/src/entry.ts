import type { Plugin } from '../../../template/atrium-console';

interface Namespace {
  metadata: { name: string; annotations?: Record<string, string> };
}

const kind = { group: '', version: 'v1', resource: 'namespaces' };
const path = '/api/kubernetes/api/v1/namespaces';
const annotation = (name: 'owner' | 'contact') => `example.com/${name}`;
const annotationOf = ({ metadata: { annotations = {} } }: Namespace, name: 'owner' | 'contact'): string =>
  annotations[annotation(name)] ?? '';

export const plugin: Plugin = {
  async activate({ components, api, t, menu, page, tab, notify }) {
    const ui = await components();
    menu({ label: 'title', path: '', under: 'cluster', rights: [{ verb: 'list', resource: 'namespaces' }] });
    page('', { title: 'title', mount: showAll });
    tab({ group: kind.group, resource: kind.resource, label: 'owner', mount: (host, { ref }) => showForm(host, `${path}/${ref?.name}`) });

    function showAll(host: HTMLElement): void {
      ui.load(
        host,
        (signal) => api.items<Namespace>(path, signal),
        (place, namespaces) => {
          ui.table<Namespace>(place, {
            label: t('title'),
            rows: namespaces,
            idOf: ({ metadata }) => metadata.name,
            empty: t('none'),
            isSearchable: true,
            columns: [
              {
                title: t('namespace'),
                cell: ({ metadata: { name } }) => ({ text: name, ref: { ...kind, name } }),
                sortBy: ({ metadata }) => metadata.name,
              },
              {
                title: t('owner'),
                cell: (one) => annotationOf(one, 'owner') || { text: t('missing'), state: 'warn' },
                sortBy: (one) => annotationOf(one, 'owner'),
              },
              { title: t('contact'), cell: (one) => annotationOf(one, 'contact'), sortBy: (one) => annotationOf(one, 'contact') },
            ],
          });
        },
      );
    }

    function showForm(host: HTMLElement, address: string): void {
      ui.load(
        host,
        (signal) => api.json<Namespace>(address, { signal }),
        (place, one) => {
          ui.form(place, {
            fields: [
              { name: 'owner', label: t('owner'), value: annotationOf(one, 'owner'), isRequired: true },
              { name: 'contact', label: t('contact'), value: annotationOf(one, 'contact'), hint: t('hint') },
            ],
            action: t('save'),
            async submit({ owner = '', contact = '' }, signal) {
              if (contact !== '' && !/^\S+@\S+$|^https:\/\//.test(contact)) return { contact: t('noContact') };
              const annotations = { [annotation('owner')]: owner, [annotation('contact')]: contact || null };
              await api.json(address, {
                method: 'PATCH',
                headers: { 'Content-Type': 'application/merge-patch+json' },
                body: JSON.stringify({ metadata: { annotations } }),
                signal,
              });
              notify('ok', t('saved'));
              return undefined;
            },
          });
        },
      );
    }
  },
};
