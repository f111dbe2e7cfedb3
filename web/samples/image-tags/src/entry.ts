import type { Cell, Plugin } from '../../../template/atrium-console';
import { type Image, imagesOf, type Pod } from './images';

const namespaces = { group: '', version: 'v1', resource: 'namespaces' };

export const plugin: Plugin = {
  async activate({ components, api, t, menu, page, namespace }) {
    const ui = await components();
    const tagOf = ({ tag, tags }: Image): Cell[] => [
      tag === '' || tag === 'latest' ? { text: t('moves', { tag: tag || 'latest' }), state: 'warn' } : tag,
      ...(tags > 1 ? [{ text: t('several', { count: tags }), state: 'off' } as const] : []),
    ];
    menu({ label: 'title', path: '', under: 'cluster' });
    page('', {
      title: 'title',
      mount(host) {
        const path = () => (namespace.value ? `/api/kubernetes/api/v1/namespaces/${namespace.value}/pods` : '/api/kubernetes/api/v1/pods');
        const loading = ui.load(
          host,
          async (signal) => imagesOf(await api.items<Pod>(path(), signal)),
          (place, images) => {
            ui.table<Image>(place, {
              label: t('title'),
              rows: images,
              idOf: ({ name, tag }) => `${name}:${tag}`,
              empty: t('none'),
              isSearchable: true,
              columns: [
                { title: t('image'), cell: ({ name }) => name, sortBy: ({ name }) => name },
                { title: t('tag'), cell: tagOf, sortBy: ({ tag }) => tag },
                { title: t('containers'), isNumber: true, cell: ({ containers }) => containers, sortBy: ({ containers }) => containers },
                {
                  title: t('namespaces'),
                  cell: (image) => image.namespaces.map((name) => ({ text: name, ref: { ...namespaces, name } })),
                  sortBy: (image) => image.namespaces.length,
                },
              ],
            });
          },
        );
        return namespace.subscribe(() => void loading.reload());
      },
    });
  },
};
