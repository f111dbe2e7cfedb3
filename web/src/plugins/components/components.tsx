/** Components that plugins get by `components()`. Loaded when the first plugin asks for them. */
import uplot from 'uplot/dist/uPlot.min.css?inline';
import type { Components, Table } from '../../../template/atrium-console';
import { refetch } from '../../api/load';
import lineChart from '../../editors/line-chart.css?inline';
import { ValueChart } from './chart';
import { FieldForm } from './form';
import { startPart } from './part';
import { LoadView, StateView } from './state';
import { RowTable } from './table';

const chartSheet = new CSSStyleSheet();
chartSheet.replaceSync(uplot + lineChart);

let loads = 0;

export const componentsOf = (plugin: string): Components => ({
  table: <Row,>(host: Element, table: Table<Row>) => startPart(host, plugin, RowTable<Row>, table),
  state: (host, state) => startPart(host, plugin, StateView, state),
  form: (host, form) => startPart(host, plugin, FieldForm, form),
  chart: (host, chart) => startPart(host, plugin, ValueChart, chart, [chartSheet]),
  load<T>(host: Element, read: (signal: AbortSignal) => Promise<T>, show: (host: HTMLElement, value: T) => void) {
    loads += 1;
    const id = `plugin/${plugin}/${loads}/`;
    const { remove } = startPart(host, plugin, LoadView<T>, { id, read, show });
    return { remove, reload: () => refetch(id) };
  },
});
