// Texts whose contrast with their ground is below the 4.5 that WCAG 2.1 asks for.
() => {
  const parse = (text) => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = (top, under) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((index) => top[index] * alpha + under[index] * (1 - alpha));
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((value) => {
      value /= 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (one) => {
    const chain = [];
    for (; one; one = one.parentElement) chain.unshift(parse(getComputedStyle(one).backgroundColor));
    return chain.reduce((under, colour) => over(colour, under), [255, 255, 255]);
  };
  const opacity = (one) => {
    let all = 1;
    for (; one; one = one.parentElement) all *= Number(getComputedStyle(one).opacity);
    return all;
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !one.getClientRects().length || one.closest("svg, .vh, option")) continue;
    const under = ground(one);
    const colour = over([...over(parse(getComputedStyle(one).color), under), opacity(one)], under);
    const [light, dark] = [luminance(colour), luminance(under)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) poor.add(`${one.tagName}.${one.className} ${ratio.toFixed(2)}`);
  }
  return [...poor];
}
