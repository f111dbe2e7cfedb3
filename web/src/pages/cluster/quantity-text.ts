const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Prints bytes as `1.5Gi` and processors as `250m`, with the decimal sign of the language. */
export function quantityText(resource: string, value: number, language: string): string {
  const print = (number: number, digits: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(language, { useGrouping: false, ...digits }).format(number);
  const isBytes = /memory|storage|hugepages-/.test(resource);
  if (!isBytes)
    return resource === 'cpu' && value > 0 && value < 1 ? `${Math.ceil(value * 1000)}m` : print(value, { maximumFractionDigits: 2 });
  const power = value < 1024 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), 6);
  const amount = value / 1024 ** power;
  return `${print(amount, amount >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 })}${binary[power]}`;
}
