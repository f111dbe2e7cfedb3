import type { Plugin } from '../../../template/atrium-console';
import { byMinute, byReason, type Event, type Reason } from './warnings';

const path = (namespace: string) => `/api/kubernetes/api/v1/${namespace && `namespaces/${namespace}/`}events?fieldSelector=type%3DWarning`;

export const plugin: Plugin = {
  async activate({ components, api, t, menu, page, namespace, language }) {
    const ui = await components();
    const clock = (time: number) => new Intl.DateTimeFormat(language.value, { hour: '2-digit', minute: '2-digit' }).format(time);
    menu({ label: 'title', path: '', under: 'cluster' });
    page('', {
      title: 'title',
      mount(host) {
        const loading = ui.load(
          host,
          (signal) => api.items<Event>(path(namespace.value), signal),
          (place, events) => {
            const now = Date.now();
            const { times, values } = byMinute(events, now);
            ui.chart(place, { title: t('lastHour'), times, lines: [{ label: t('warnings'), values }] });
            ui.table<Reason>(place, {
              label: t('reasons'),
              rows: byReason(events, now),
              idOf: ({ reason }) => reason,
              empty: t('none'),
              columns: [
                { title: t('reason'), cell: ({ reason }) => ({ text: reason, state: 'warn' }), sortBy: ({ reason }) => reason },
                { title: t('count'), isNumber: true, cell: ({ count }) => count, sortBy: ({ count }) => count },
                { title: t('last'), cell: ({ last }) => clock(last), sortBy: ({ last }) => last },
                {
                  title: t('object'),
                  cell: ({ newest: { involvedObject: of } }) => `${of.kind} ${of.namespace ? `${of.namespace}/` : ''}${of.name}`,
                },
                { title: t('message'), cell: ({ newest }) => newest.message ?? '' },
              ],
            });
          },
        );
        return namespace.subscribe(() => void loading.reload());
      },
    });
  },
};
