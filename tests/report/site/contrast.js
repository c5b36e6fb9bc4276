// Words with less contrast to their ground than WCAG's level AA asks for.
() => {
  const parse = (text) => {
    const [r, g, b, a] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a === undefined ? 1 : a];
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const left_out = ":disabled, title, .hidden, .skip, noscript, option";
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!words || !element.checkVisibility() || element.closest(left_out)) continue;
    const style = getComputedStyle(element);
    const box = element.closest("g.node")?.querySelector("rect"); // In a graph the box is the ground.
    const below = box ? over(parse(getComputedStyle(box).fill), [255, 255, 255, 1]) : ground(element);
    const ink = over(parse(element.namespaceURI.endsWith("svg") ? style.fill : style.color), below);
    const [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${element.className} ${words.slice(0, 40)}`);
  }
  return found;
};
