"""Code lists: ISO 3166-1 alpha-2 countries, ISO 4217 currencies, crypto currencies and their networks."""

from __future__ import annotations

#: Officially assigned codes of ISO 3166-1 alpha-2.
COUNTRIES = frozenset(
    """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY
BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK
FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR
IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK
ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM
PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF
TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
""".split()
)

#: Active alphabetic codes of ISO 4217, without funds and precious metals.
CURRENCIES = frozenset(
    """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL
HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD
MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG
QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD
TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
""".split()
)

#: Crypto currency -> networks with wallets (section 2.7).
WALLET_NETWORKS: dict[str, frozenset[str]] = {
    "USDC": frozenset({"solana_devnet", "ethereum", "polygon"}),
    "USDT": frozenset({"solana_devnet", "ethereum", "polygon"}),
    "USDC_ETHEREUM": frozenset({"ethereum"}),
    "ETH": frozenset({"ethereum", "polygon"}),
    "BTC": frozenset({"bitcoin"}),
}

#: Fixed example rates in US dollars; 1 for other currencies.
DOLLARS = {
    "EUR": "1.10",
    "GBP": "1.25",
    "MXN": "0.05",
    "BRL": "0.20",
    "CAD": "0.75",
    "JPY": "0.0065",
    "CHF": "1.15",
    "COP": "0.00025",
}
